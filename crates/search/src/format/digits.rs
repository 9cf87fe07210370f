//! Short texts appended to a buffer by copies of constant length.

/// A comma and a number below 1,000, their length, and the number with leading zeros.
#[derive(Clone, Copy)]
pub(crate) struct Short {
    pub(crate) text: [u8; 4],
    pub(crate) length: u8,
    pub(crate) padded: [u8; 3],
}

/// The numbers below 1,000.
pub(crate) static SHORT: [Short; 1_000] = {
    let mut table = [Short { text: [0; 4], length: 0, padded: [0; 3] }; 1_000];
    let mut number = 0;
    while number < table.len() {
        let hundreds = b'0' + (number / 100) as u8;
        let tens = b'0' + (number / 10 % 10) as u8;
        let ones = b'0' + (number % 10) as u8;
        let (text, length) = match number {
            0..10 => ([b',', ones, 0, 0], 2),
            10..100 => ([b',', tens, ones, 0], 3),
            _ => ([b',', hundreds, tens, ones], 4),
        };
        table[number] = Short { text, length, padded: [hundreds, tens, ones] };
        number += 1;
    }
    table
};

/// Appends the first `used` bytes. The copy has a constant length, which takes a few instructions;
/// the excess is truncated.
pub(crate) fn append<const N: usize>(bytes: &[u8; N], used: usize, out: &mut Vec<u8>) {
    let end = out.len() + used;
    out.extend_from_slice(bytes);
    out.truncate(end);
}

/// Appends an unsigned integer in decimal.
pub(crate) fn write_unsigned(value: u64, out: &mut Vec<u8>) {
    if let Some(Short { text: [_, digits @ ..], length, .. }) = SHORT.get(value as usize)
        && value < 1_000
    {
        append(digits, usize::from(*length) - 1, out);
    } else {
        out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length() {
        for number in (0..2_000).chain([1_000_000, u64::MAX, 1 << 32]) {
            let mut out = b"x".to_vec();
            write_unsigned(number, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), format!("x{number}"));
        }
    }
}
