"""The cases in Nim, with its memory management on malloc (-d:useMalloc)."""

from truth import leaking_library

HEAD = """
import std/[os, locks, strutils, deques, tables]
var used {.volatile.}: int
"""


def copied(draw):
    size, base = draw.number(9_000_000, 30_000_000), draw.number(1_000_000, 4_000_000)
    return draw.case(HEAD, """
proc $a(round: int) {.noinline.} =
  var first = newSeq[byte]($n)
  first[7] = byte(round)
  var second = first
  second[3] = 1
  sleep(150)
  used = used + first.len + second.len + int(first[7])
proc $d(): seq[byte] {.noinline.} = newSeq[byte]($m)
proc run() =
  let keep = $d()
  sleep(400)
  $a(1)
  sleep(450)
  used = used + keep.len
run()
""", ("peak",), {"bytes": 2 * size, "equal_blocks": 2}, ("2 blocks of exactly", "it lasted"),
        n=size, m=base)


def doubled(draw):
    count = draw.number(1_100_000, 6_000_000)
    capacities = [4]
    while capacities[-1] < count:  # doubled while small, then half as much again
        last = capacities[-1]
        capacities.append(last * 2 if last < 65536 else last * 3 // 2)
    return draw.case(HEAD, """
proc $a(items: var seq[uint32]) {.noinline.} =
  for i in 0 ..< $n: items.add(uint32(i))
proc run() =
  sleep(300)
  block:
    var items: seq[uint32]
    $a(items)
    sleep(200)
    used = used + items.len
  sleep(300)
run()
""", ("peak",), {"bytes": 4 * capacities[-1]}, ("grew by doubling",), n=count)


def bounded_cache(draw):
    size, limit = draw.number(4_000, 9_000), draw.number(400, 800)
    return draw.case(HEAD, """
proc $a(items: var Deque[seq[byte]]) {.noinline.} =
  items.addLast(newSeq[byte]($n))
  if items.len > $m: discard items.popFirst()
proc $c(items: var Deque[seq[byte]]) {.noinline.} =
  for i in 0 ..< 5: $a(items)
  sleep(2)
proc run() =
  var items = initDeque[seq[byte]](1024)
  for i in 0 ..< $m div 2: $c(items)
  used = used + items.len
run()
""", ("stopped-growing",), {"bytes": size * (limit + 1)}, ("stopped growing at", "<- $c"),
        n=size, m=limit)


def unbounded_log(draw):
    size, lines = draw.number(1_000, 4_000), draw.number(500, 900)
    return draw.case(HEAD, """
proc $a(log: var seq[string], i: int) {.noinline.} = log.add(repeat('l', $n))
proc run() =
  var log = newSeqOfCap[string]($m)
  for i in 0 ..< $m:
    $a(log, i)
    sleep(1)
  used = used + log.len
run()
""", ("growing",), {"bytes": size * lines}, ("freed only at the end",), n=size, m=lines)


def one_path(draw):
    size, rounds = draw.number(1_000, 3_000), draw.number(300, 500)
    return draw.case(HEAD, """
proc $a(i: int): pointer {.noinline.} =
  result = alloc($n)
  cast[ptr int](result)[] = i
proc $b(i: int) {.noinline.} =
  let p = $a(i)
  used = used + cast[ptr int](p)[]
  dealloc(p)
proc $c(i: int) {.noinline.} =
  let p = $a(i)
  used = used + cast[ptr int](p)[]
for i in 0 ..< $m:
  $b(i)
  $c(i)
  sleep(1)
""", ("never-freed",), {"bytes": size * rounds, "blocks": rounds, "allocations": 2 * rounds},
        ("freed when called from $b, not from $c",), n=size, m=rounds)


def at_start(draw):
    size, tables = draw.number(100_000, 200_000), draw.number(6, 12)
    return draw.case(HEAD, """
proc $a(tables: var seq[seq[int32]]) {.noinline.} =
  for i in 0 ..< $m: tables.add(newSeq[int32]($n))
proc $b(table: seq[int32], i: int): int {.noinline.} = repeat('x', 30 + i mod 5).len + int(table[i])
proc run() =
  var tables = newSeqOfCap[seq[int32]]($m)
  $a(tables)
  for i in 0 ..< 700:
    used = used + $b(tables[i mod $m], i)
    sleep(2)
run()
""", ("at-start", "allocated-once"), {"bytes": 4 * size * tables}, ("allocated once",),
        n=size, m=tables)


def bursts(draw):
    size, count = draw.number(5_000_000, 20_000_000), draw.number(5, 8)
    return draw.case(HEAD, """
proc $a(i: int) {.noinline.} =
  var page = newSeq[byte]($n)
  page[5] = byte(i)
  sleep(20)
  used = used + page.len + int(page[5])
proc $b() {.noinline.} =
  for i in 0 ..< $m:
    sleep(110)
    $a(i)
$b()
sleep(110)
""", ("bursts",), {"bytes": size, "bursts": count}, (f"{count} bursts",), n=size, m=count)


def churn(draw):
    length, count = draw.number(60, 300), draw.number(60_000, 120_000)
    return draw.case(HEAD, """
proc $a(i: int): int {.noinline.} =
  let line = repeat(char(97 + i mod 26), $n)
  result = line.len + int(line[3])
proc $b(i: int): int {.noinline.} = $a(i) + 1
for i in 0 ..< $m:
  used = used + $b(i)
  if i mod 1000 == 0: sleep(4)
""", ("churn",), {"short_lived": count, "allocations": count}, ("<- $b",), n=length, m=count)


def handed_over(draw):
    size, count = draw.number(300, 900), draw.number(8_000, 15_000)
    return draw.case(HEAD, """
var guard: Lock
var there: Cond
var ring: array[256, pointer] # of a fixed size
var first, waiting: int
proc $a(i: int): pointer {.noinline.} =
  result = allocShared($n)
  cast[ptr int](result)[] = i
proc $b() {.thread.} =
  for i in 0 ..< $m:
    acquire(guard)
    while waiting >= 200: wait(there, guard)
    ring[(first + waiting) mod 256] = $a(i)
    waiting += 1
    signal(there)
    release(guard)
    if i mod 100 == 0: sleep(3)
proc $c() {.thread.} =
  for i in 0 ..< $m:
    acquire(guard)
    while waiting == 0 or (waiting <= 100 and i < $m - 101): wait(there, guard)
    let p = ring[first mod 256]
    first += 1
    waiting -= 1
    signal(there)
    release(guard)
    deallocShared(p)
proc run() =
  var one, two: Thread[void]
  initLock(guard)
  initCond(there)
  createThread(one, $b)
  createThread(two, $c)
  joinThread(one)
  joinThread(two)
run()
""", ("handed-over",), {"allocated_blocks": count, "allocated_bytes": size * count},
        ("were freed by thread",), accuses=("$b",), n=size, m=count)


def slow_leak(draw):
    size, rounds = draw.number(100, 400), draw.number(500, 800)
    return draw.case(HEAD, """
type $b = object
  size: int
proc $a(self: $b, i: int): pointer {.noinline.} =
  result = alloc(self.size)
  cast[ptr int](result)[] = i
proc $c(i: int): int {.noinline.} = repeat('s', 40 + i mod 9).len
let maker = $b(size: $n)
for i in 0 ..< $m:
  used = used + cast[ptr int](maker.$a(i))[]
  for k in 0 ..< 80: used = used + $c(k)
  sleep(1)
""", ("never-freed",), {"bytes": size * rounds, "blocks": rounds}, ("grew",), accuses=("$c",),
        n=size, m=rounds)


def of_a_library(draw):
    size, rounds = draw.number(500, 2_000), draw.number(400, 700)
    library = draw.name()
    return draw.case(HEAD, """
proc $l(i: cint): csize_t {.importc.}
proc $a(i: int): int {.noinline.} = int($l(cint(i))) + 1
for i in 0 ..< $m:
  used = used + $a(i)
  sleep(1)
""", ("never-freed",), {"bytes": size * rounds, "blocks": rounds}, ("via $l (", "grew"),
        library=leaking_library(library, size), m=rounds, l=library)


def healthy(draw):
    return draw.case(HEAD, """
proc $a(i: int): int {.noinline.} =
  var m = initTable[int, string]()
  for k in 0 ..< 20: m[k * i mod 31] = repeat('m', 60)
  sleep(1)
  m.len
proc $b(v: var seq[float]) {.noinline.} =
  for i in 0 ..< v.len: v[i] += 1.0
proc run() =
  var state = newSeq[float]($n)
  for i in 0 ..< 250:
    $b(state)
    used = used + $a(i + 1)
    sleep(1)
run()
""", (), function="", n=draw.number(20_000, 60_000))


CASES = {function.__name__: function for function in (
    copied, doubled, bounded_cache, unbounded_log, one_path, at_start, bursts, churn, handed_over,
    slow_leak, of_a_library, healthy)}
