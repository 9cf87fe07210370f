//! Which image bytes are, by their content.

use imagesize::{Compression, ImageType};

/// How many bytes at the beginning tell which image they are.
pub const IMAGE_START: usize = 64;

/// The media type of an image that every browser shows, by its first bytes; `None` for other bytes.
/// SVG is none: it is a document that can run scripts.
///
/// The rest of the bytes is not looked at, so what follows may still be anything.
pub fn image_type(bytes: &[u8]) -> Option<&'static str> {
    match imagesize::image_type(bytes).ok()? {
        ImageType::Png => Some("image/png"),
        ImageType::Jpeg => Some("image/jpeg"),
        // The library looks at fewer letters.
        ImageType::Gif if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") => {
            Some("image/gif")
        }
        ImageType::Webp => Some("image/webp"),
        ImageType::Heif(Compression::Av1) => Some("image/avif"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_beginning_tells_the_type() {
        let images: [(&[u8], &str); 6] = [
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01", "image/png"),
            (b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01", "image/jpeg"),
            (b"GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff\0\0\0", "image/gif"),
            (b"GIF87a\x01\0\x01\0\x80\0\0\xff\xff\xff\0\0\0", "image/gif"),
            (b"RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0\x2f\0\0\0", "image/webp"),
            (b"\0\0\0\x1cftypavif\0\0\0\0avifmif1miaf\0\0\0\0", "image/avif"),
        ];
        for (bytes, kind) in images {
            assert_eq!(image_type(bytes), Some(kind));
            assert_eq!(image_type(&bytes[..2]), None, "{kind}");
        }
        let others: [&[u8]; 8] = [
            b"",
            b"<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>",
            b"<!doctype html><script>alert(1)</script>",
            b"GIF88a\x01\0\x01\0\x80\0\0\xff\xff\xff",
            b"RIFF\x1a\0\0\0WAVEfmt \x0d\0\0\0\x2f\0\0\0",
            b"\0\0\0\x1cftypisom\0\0\0\0isomiso2mp41\0\0",
            b"\0\0\0\x1cftypheic\0\0\0\0heicmif1miaf\0\0",
            b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj",
        ];
        for bytes in others {
            assert_eq!(image_type(bytes), None, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0..3usize) {
            let start: &[u8] = [b"\0\0\0\x20ftypavif".as_slice(), b"RIFF", b""][kind];
            image_type(&[start, &bytes].concat());
        }
    }
}
