//! Bodies of an S3 server in chunks, forms and policies: the same content or fault however they are cut.
#![no_main]

use libfuzzer_sys::fuzz_target;

/// Bytes of an input; a longer one is more of the same.
const LONGEST: usize = 30_000;

fuzz_target!(|data: &[u8]| {
    if data.len() <= LONGEST {
        runnel_s3::fuzzing::chunked(data);
    }
});
