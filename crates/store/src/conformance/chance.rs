//! Chance that is the same in every run.

use crate::Value;

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014): small,
/// and the same everywhere.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(super) fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// A value that any store can hold: no nil at the top, no bytes.
    pub(super) fn value(&mut self, depth: usize) -> Value {
        const TEXTS: [&str; 6] = ["", "x", "héllo wörld", "a,\"b\"\r\n", "\\u0041", "{\"a\":1}"];
        match self.below(if depth == 0 { 5 } else { 8 }) {
            0 => Value::Bool(self.below(2) == 0),
            1 => Value::Int(self.next() as i64),
            2 => Value::Float(self.next() as i64 as f64 / 1024.0),
            3 => Value::Big(format!("{}{}", 1 + self.next() / 2, self.next()).into()),
            4 => Value::from(self.of(&TEXTS)),
            5 => {
                let length = self.below(4);
                Value::List((0..length).map(|_| self.value(depth - 1)).collect())
            }
            _ => {
                let length = self.below(4);
                let names = ["a", "b", "c\"d", ""];
                Value::record((0..length).map(|_| (self.of(&names), self.value(depth - 1))))
            }
        }
    }
}
