//! Heads of requests to an S3 server: none is signed rightly by chance, and each that our signer signs is.
#![no_main]

use libfuzzer_sys::fuzz_target;

/// Bytes of an input; longer ones meet the limits of heads first.
const LONGEST: usize = 8_000;

fuzz_target!(|data: &[u8]| {
    if data.len() <= LONGEST {
        runnel_s3::fuzzing::signature(data);
    }
});
