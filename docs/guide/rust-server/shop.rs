//! A shop's server: answers each request with the items that its client has looked at.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Result, Write};
use std::os::unix::net::{UnixListener, UnixStream};

const REMEMBERED: usize = 500;

struct Session {
    user: String,
    items: Vec<String>,
}

impl Session {
    fn new(id: u64) -> Session {
        Session { user: format!("guest {id}"), items: Vec::with_capacity(REMEMBERED) }
    }
}

#[derive(Default)]
struct Shop {
    sessions: HashMap<u64, Session>,
    requests: u64,
}

impl Shop {
    fn look_at(&mut self, item: &str, cookie: Option<u64>) -> String {
        self.requests += 1;
        let id = cookie.unwrap_or(self.requests);
        let session = self.sessions.entry(id).or_insert_with(|| Session::new(id));
        if session.items.len() < REMEMBERED {
            session.items.push(item.to_string());
        }
        format!("{}: {}\n", session.user, session.items.join(" "))
    }

    fn serve(&mut self, mut client: UnixStream) -> Result<()> {
        let mut lines = BufReader::new(client.try_clone()?).lines();
        let request = lines.next().unwrap_or(Ok(String::new()))?;
        let item = request.split(' ').nth(1).unwrap_or("/");
        let mut cookie = None;
        for line in lines {
            match line?.as_str() {
                "" => break,
                header => cookie = cookie.or(header.strip_prefix("Cookie: id=").and_then(|id| id.parse().ok())),
            }
        }
        let body = self.look_at(item, cookie);
        write!(client, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
    }
}

fn main() -> Result<()> {
    let socket = std::env::args().nth(1).expect("usage: shop SOCKET");
    let mut shop = Shop::default();
    for client in UnixListener::bind(socket)?.incoming() {
        if let Err(error) = shop.serve(client?) {
            eprintln!("shop: {error}");
        }
    }
    Ok(())
}
