// Take uploads, and remember them by their first bytes.

const seen = new Map();

// What the network hands over: all of an upload in one piece.
function receive(number) {
  const upload = Buffer.alloc(100_000);
  upload.writeUInt32BE(number);
  return upload;
}

function remember(upload, number) {
  const key = upload.subarray(0, 16);
  seen.set(number, key);
}

let number = 0;

function serve() {
  for (let i = 0; i < 10; i++, number++) {
    remember(receive(number), number);
  }
  if (number < 1000) {
    setTimeout(serve, 20);
    return;
  }
  const { heapUsed, rss } = process.memoryUsage();
  const [heap, all] = [heapUsed, rss].map((bytes) => (bytes / 1e6).toFixed(0));
  console.log(`${seen.size} keys; JavaScript's heap ${heap} MB, RSS ${all} MB`);
}

serve();
