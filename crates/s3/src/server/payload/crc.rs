//! Cyclic redundancy checks of objects, and those of joined content.
//!
//! Each has a crate of its own: one for all has half a megabyte of tables for the checks that S3 lacks.

/// The checks.
#[derive(Clone, Copy)]
pub(crate) enum Crc {
    Crc32,
    Crc32c,
    Crc64Nvme,
}

/// A calculation of a cyclic redundancy check.
pub(crate) enum CrcHasher {
    Crc32(crc32fast::Hasher),
    Crc32c(u32),
    Crc64Nvme(crc64fast_nvme::Digest),
}

impl CrcHasher {
    /// Begins a calculation.
    pub(crate) fn new(crc: Crc) -> CrcHasher {
        match crc {
            Crc::Crc32 => CrcHasher::Crc32(crc32fast::Hasher::new()),
            Crc::Crc32c => CrcHasher::Crc32c(0),
            Crc::Crc64Nvme => CrcHasher::Crc64Nvme(crc64fast_nvme::Digest::new()),
        }
    }

    /// Reads content.
    pub(crate) fn update(&mut self, content: &[u8]) {
        match self {
            CrcHasher::Crc32(hasher) => hasher.update(content),
            CrcHasher::Crc32c(crc) => *crc = crc32c::crc32c_append(*crc, content),
            CrcHasher::Crc64Nvme(digest) => digest.write(content),
        }
    }

    /// Ends the calculation.
    pub(crate) fn finish(self) -> u64 {
        match self {
            CrcHasher::Crc32(hasher) => hasher.finalize().into(),
            CrcHasher::Crc32c(crc) => crc.into(),
            CrcHasher::Crc64Nvme(digest) => digest.sum64(),
        }
    }
}

/// The check of two contents, one after the other, from the check of each and the length of the second in bytes.
pub(crate) fn join(crc: Crc, first: u64, second: u64, length: u64) -> u64 {
    let field = CrcField::of(crc);
    let unused = 64 - field.bits;
    // x to the power of the bits of the second content.
    let (mut power, mut factor, mut rest) = (1 << 63, 1 << (63 - 8), length);
    while rest > 0 {
        if rest & 1 == 1 {
            power = field.product(power, factor);
        }
        factor = field.product(factor, factor);
        rest >>= 1;
    }
    (field.product(first << unused, power) >> unused) ^ second
}

/// Polynomials over GF(2) modulo that of a check; the highest bit of a number is x⁰.
struct CrcField {
    polynomial: u64,
    bits: u32,
}

impl CrcField {
    fn of(crc: Crc) -> CrcField {
        let (polynomial, bits) = match crc {
            Crc::Crc32 => (0xEDB8_8320 << 32, 32),
            Crc::Crc32c => (0x82F6_3B78 << 32, 32),
            Crc::Crc64Nvme => (0x9A6C_9329_AC4B_C9B5, 64),
        };
        CrcField { polynomial, bits }
    }

    fn product(&self, a: u64, mut b: u64) -> u64 {
        let highest = 1 << (64 - self.bits);
        let mut product = 0;
        for power in 0..self.bits {
            if (a << power) >> 63 == 1 {
                product ^= b;
            }
            let overflow = b & highest;
            b = (b ^ overflow) >> 1;
            if overflow != 0 {
                b ^= self.polynomial;
            }
        }
        product
    }
}
