// SPDX-License-Identifier: MIT
use std::collections::HashMap;
use std::fmt::Display;

mod shapes {
    pub trait Area {
        fn area(&self) -> f64;
    }
    pub struct Square<T>(pub T);
    impl<T: Copy + Into<f64>> Area for Square<T> {
        fn area(&self) -> f64 {
            let side: f64 = self.0.into();
            side * side
        }
    }
    pub fn total(all: &[Box<dyn Area>]) -> f64 {
        all.iter().map(|a| a.area()).sum()
    }
}

#[inline(never)]
fn join<T: Display>(all: &[T]) -> String {
    let mut text = String::new();
    for one in all {
        text.push_str(&format!("{one},"));
    }
    text
}

#[no_mangle]
pub extern "C" fn rust_for_c(n: i32) -> i32 {
    n.wrapping_mul(3)
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for word in &words {
        *counts.entry(word.as_str()).or_default() += 1;
    }
    let mut lengths: Vec<usize> = words.iter().map(|w| w.len()).collect();
    lengths.sort_by(|a, b| b.cmp(a));
    let all: Vec<Box<dyn shapes::Area>> =
        vec![Box::new(shapes::Square(2.0f32)), Box::new(shapes::Square(words.len() as u8))];
    println!("{} {} {} {}", join(&lengths), counts.len(), shapes::total(&all), rust_for_c(7));
}
