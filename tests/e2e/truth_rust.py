"""The cases in Rust. Built with and without debug data, with old and with new names."""

from truth import leaking_library

HEAD = """
#![allow(dead_code, unused_imports)]
use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::sync_channel;
use std::thread::{sleep, spawn};
use std::time::Duration;
fn nap(ms: u64) { sleep(Duration::from_millis(ms)); }
// std::hint::black_box came with 1.66; Debian 12 has 1.63
#[inline(never)] fn black_box<T>(value: T) -> T {
    unsafe { let seen = std::ptr::read_volatile(&value); std::mem::forget(value); seen }
}
"""


def copied(draw):
    size, base = draw.number(9_000_000, 30_000_000), draw.number(1_000_000, 4_000_000)
    return draw.case(HEAD, """
#[inline(never)] fn $a(round: u8) {
    let first = black_box(vec![round; $n]);
    let second = black_box(first.clone());
    nap(150);
    black_box((&first, &second));
}
#[inline(never)] fn $d() -> Vec<u8> { black_box(vec![1; $m]) }
fn main() { let keep = $d(); nap(400); $a(1); nap(450); black_box(&keep); }
""", ("peak",), {"bytes": 2 * size, "equal_size": size, "equal_blocks": 2},
        ("2 blocks of exactly", "it lasted", "without it"), n=size, m=base)


def doubled(draw):
    count = draw.number(1_100_000, 6_000_000)
    capacities = [4]
    while capacities[-1] < count:
        capacities.append(capacities[-1] * 2)
    return draw.case(HEAD, """
struct $b { items: Vec<u32> }
impl $b { #[inline(never)] fn $a(&mut self, n: u32) { for i in 0..n { self.items.push(black_box(i)); } } }
fn main() {
    nap(300);
    { let mut all = $b { items: Vec::new() }; all.$a($n); nap(200); black_box(&all.items); }
    nap(300);
}
""", ("peak",), {"bytes": 4 * capacities[-1], "saved_allocations": len(capacities) - 1,
                 "saved_bytes": 4 * sum(capacities[:-1])}, ("grew by doubling",), n=count)


def bounded_cache(draw):
    size, limit = draw.number(4_000, 9_000), draw.number(400, 800)
    return draw.case(HEAD, """
#[inline(never)] fn $a(items: &mut VecDeque<Box<[u8]>>) {
    items.push_back(black_box(vec![1u8; $n].into_boxed_slice()));
    if items.len() > $m { items.pop_front(); }
}
#[inline(never)] fn $c(items: &mut VecDeque<Box<[u8]>>) { for _ in 0..5 { $a(items); } nap(2); }
fn main() { let mut items = VecDeque::with_capacity(1000); for _ in 0..$m / 2 { $c(&mut items); } black_box(&items); }
""", ("stopped-growing",), {"bytes": size * (limit + 1)}, ("stopped growing at",), n=size, m=limit)


def unbounded_log(draw):
    size, lines = draw.number(1_000, 4_000), draw.number(500, 900)
    return draw.case(HEAD, """
#[inline(never)] fn $a(i: usize, log: &mut Vec<String>) { log.push(black_box("l".repeat($n - i % 2))); }
fn main() {
    let mut log = Vec::with_capacity($m);
    for i in 0..$m { $a(i, &mut log); nap(1); }
    black_box(&log);
}
""", ("growing",), {"bytes": size * lines}, ("freed only at the end",), n=size, m=lines)


def one_path(draw):
    size, rounds = draw.number(1_000, 3_000), draw.number(300, 500)
    return draw.case(HEAD, """
#[inline(never)] fn $a(i: usize) -> Box<[u8]> { black_box(vec![i as u8; $n].into_boxed_slice()) }
#[inline(never)] fn $b(i: usize) { let p = $a(i); black_box(&p); drop(p); }
#[inline(never)] fn $c(i: usize) { let p = $a(i); std::mem::forget(black_box(p)); }
fn main() { for i in 0..$m { $b(i); $c(i); $b(i); nap(1); } }
""", ("never-freed",), {"bytes": size * rounds, "blocks": rounds, "allocations": 3 * rounds},
        ("$b, not from prog::$c",), n=size, m=rounds)


def at_start(draw):
    size, tables = draw.number(100_000, 200_000), draw.number(6, 12)
    return draw.case(HEAD, """
#[inline(never)] fn $a(out: &mut Vec<Vec<u32>>) { for i in 0..$m { out.push(black_box(vec![i; $n])); } }
#[inline(never)] fn $b(t: &[u32], i: usize) -> usize { black_box("x".repeat(30 + i % 5)).len() + t[i] as usize }
fn main() {
    let mut tables = Vec::with_capacity($m);
    $a(&mut tables);
    for i in 0..700 { black_box($b(&tables[i % $m], i)); nap(2); }
    if $f == 1 { std::mem::forget(tables); }
}
""", ("at-start", "allocated-once"), {"bytes": 4 * size * tables}, ("allocated once",),
        n=size, m=tables, f=draw.number(0, 1))


def bursts(draw):
    size, count = draw.number(5_000_000, 20_000_000), draw.number(5, 8)
    return draw.case(HEAD, """
#[inline(never)] fn $a(i: u8) { let page = black_box(vec![i + 1; $n]); nap(20); black_box(&page); }
#[inline(never)] fn $b() { for i in 0..$m { nap(110); $a(i); } }
fn main() { $b(); nap(110); }
""", ("bursts",), {"bytes": size, "bursts": count}, (f"{count} bursts",), n=size, m=count)


def churn(draw):
    length, count = draw.number(60, 300), draw.number(60_000, 120_000)
    return draw.case(HEAD, """
#[inline(never)] fn $a(i: usize) -> usize { black_box("c".repeat($n)).len() + i }
#[inline(never)] fn $b(i: usize) -> usize { black_box($a(i)) + 1 }
fn main() { for i in 0..$m { black_box($b(i)); if i % 1000 == 0 { nap(4); } } }
""", ("churn",), {"short_lived": count, "allocations": count, "size": length},
        (f"always {length} bytes", "<- prog::$b"), n=length, m=count)


def handed_over(draw):
    size, count = draw.number(300, 900), draw.number(8_000, 15_000)
    return draw.case(HEAD, """
#[inline(never)] fn $a(i: usize) -> Box<[u8; $n]> { black_box(Box::new([i as u8; $n])) }
fn main() {
    let (send, receive) = sync_channel::<Box<[u8; $n]>>(200);
    let one = spawn(move || { for i in 0..$m { send.send($a(i)).unwrap(); if i % 100 == 0 { nap(3); } } });
    let two = spawn(move || {
        let mut held = VecDeque::with_capacity(200);
        for m in receive { held.push_back(m); if held.len() > 100 { black_box(held.pop_front()); } }
    });
    one.join().unwrap();
    two.join().unwrap();
}
""", ("handed-over",), {"allocated_blocks": count, "allocated_bytes": size * count},
        ("were freed by thread",), n=size, m=count)


def slow_leak(draw):
    size, rounds = draw.number(100, 400), draw.number(500, 800)
    return draw.case(HEAD, """
mod $d { pub struct $b; impl $b { #[inline(never)] pub fn $a(i: usize) -> &'static mut [u8] {
    Box::leak(super::black_box(vec![i as u8; $n].into_boxed_slice())) } } }
#[inline(never)] fn $c(i: usize) -> usize { black_box("s".repeat(40 + i % 9)).len() }
fn main() {
    for i in 0..$m {
        black_box($d::$b::$a(i));
        for k in 0..80 { black_box($c(k)); }
        nap(1);
    }
}
""", ("never-freed",), {"bytes": size * rounds, "blocks": rounds}, ("grew",), accuses=("$c",),
        n=size, m=rounds)


def of_a_library(draw):
    size, rounds = draw.number(500, 2_000), draw.number(400, 700)
    library = draw.name()
    return draw.case(HEAD, """
extern "C" { fn $l(i: i32) -> usize; }
#[inline(never)] fn $a(i: i32) -> usize { unsafe { $l(i) + 1 } }
fn main() { for i in 0..$m { black_box($a(i)); nap(1); } }
""", ("never-freed",), {"bytes": size * rounds, "blocks": rounds}, ("via $l (", "grew"),
        library=leaking_library(library, size), m=rounds, l=library)


def healthy(draw):
    return draw.case(HEAD, """
#[inline(never)] fn $a(i: usize) -> usize {
    let mut m = BTreeMap::new();
    for k in 0..20 { m.insert(k * i % 31, black_box("m".repeat(60))); }
    nap(1);
    m.len()
}
#[inline(never)] fn $b(v: &mut [f64]) { for x in v.iter_mut() { *x += 1.0; } }
fn main() {
    let mut state = black_box(vec![0.0; $n]);
    for i in 0..250 { $b(&mut state); black_box($a(i + 1)); nap(1); }
}
""", (), function="", n=draw.number(20_000, 60_000))


CASES = {function.__name__: function for function in (
    copied, doubled, bounded_cache, unbounded_log, one_path, at_start, bursts, churn, handed_over,
    slow_leak, of_a_library, healthy)}
