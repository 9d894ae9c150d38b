// SPDX-License-Identifier: MIT
// A JSON-like tree made, printed, parsed and dropped: json ROUNDS
use std::collections::BTreeMap;

enum Value {
    Text(String),
    List(Vec<Value>),
    Map(BTreeMap<String, Value>),
}

fn make(depth: u32, label: usize) -> Value {
    if depth == 0 {
        return Value::Text(format!("leaf number {label} of the tree"));
    }
    let list = (0..4).map(|i| make(depth - 1, label * 4 + i)).collect();
    let mut map = BTreeMap::new();
    map.insert(format!("children of {label}"), Value::List(list));
    map.insert("name".to_string(), Value::Text(label.to_string()));
    Value::Map(map)
}

fn print(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::Text(t) => out.push(format!("\"{t}\"")),
        Value::List(l) => l.iter().for_each(|v| print(v, out)),
        Value::Map(m) => m.iter().for_each(|(k, v)| {
            out.push(k.clone());
            print(v, out)
        }),
    }
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(50);
    let mut total = 0;
    for _ in 0..rounds {
        let mut out = Vec::new();
        print(&make(6, 1), &mut out);
        total += out.concat().len();
    }
    println!("{total}");
}
