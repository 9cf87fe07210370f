//! The file at the end of a form (`multipart/form-data`, RFC 7578), up to its boundary.

use crate::server::fault::{FaultCode, S3Fault, S3Result};
use bytes::Bytes;
use memchr::memmem;
use std::ops::RangeInclusive;

/// Takes the content of a file out of a form, as it comes. What follows the file is ignored.
pub(crate) struct FormFile {
    /// A line end, two hyphens and the boundary.
    delimiter: Vec<u8>,
    /// The start of what may be a delimiter.
    held: Bytes,
    is_done: bool,
    length: u64,
    /// The lengths that the policy allows.
    allowed: Option<RangeInclusive<u64>>,
    /// The length of the file where nothing follows it.
    announced: Option<u64>,
}

impl FormFile {
    /// A file that ends at a boundary.
    pub(crate) fn new(boundary: &str) -> FormFile {
        FormFile {
            delimiter: format!("\r\n--{boundary}").into_bytes(),
            held: Bytes::new(),
            is_done: false,
            length: 0,
            allowed: None,
            announced: None,
        }
    }

    /// Refuses a file of another length. The announced one is for the message.
    pub(crate) fn limit(&mut self, allowed: RangeInclusive<u64>, announced: Option<u64>) {
        (self.allowed, self.announced) = (Some(allowed), announced);
    }

    /// The next content in the input, or nothing where the input is used up.
    pub(crate) fn decode(&mut self, input: &mut Bytes) -> S3Result<Option<Bytes>> {
        let mut found = std::mem::take(input);
        if self.is_done {
            return Ok(None);
        }
        if !self.held.is_empty() {
            found = [std::mem::take(&mut self.held), found].concat().into();
        }
        match memmem::find(&found, &self.delimiter) {
            Some(end) => {
                self.is_done = true;
                found.truncate(end);
            }
            None => {
                let start = found.len() - self.delimiter_start(&found);
                self.held = found.split_off(start);
            }
        }
        self.length = self.length.saturating_add(found.len() as u64);
        if let Some(allowed) = &self.allowed
            && self.length > *allowed.end()
        {
            let proposed = self.announced.unwrap_or(self.length).max(self.length);
            return Err(S3Fault::new(FaultCode::EntityTooLarge)
                .with("ProposedSize", proposed.to_string())
                .with("MaxSizeAllowed", allowed.end().to_string()));
        }
        Ok(Some(found).filter(|found| !found.is_empty()))
    }

    /// The length of the longest end of the content that begins a delimiter.
    fn delimiter_start(&self, content: &[u8]) -> usize {
        let longest = content.len().min(self.delimiter.len() - 1);
        let tail = &content[content.len() - longest..];
        let starts = memchr::memchr_iter(b'\r', tail);
        starts
            .map(|at| &tail[at..])
            .find(|end| self.delimiter.starts_with(end))
            .map_or(0, <[u8]>::len)
    }

    /// Checks that the boundary came.
    pub(crate) fn finish(&self) -> S3Result<()> {
        if !self.is_done {
            return Err(FaultCode::MalformedPOSTRequest.into());
        }
        match &self.allowed {
            Some(allowed) if self.length < *allowed.start() => {
                Err(S3Fault::new(FaultCode::EntityTooSmall)
                    .with("ProposedSize", self.length.to_string())
                    .with("MinSizeAllowed", allowed.start().to_string()))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(sent: &[u8], cuts: &[usize], mut part: FormFile) -> S3Result<Vec<u8>> {
        let (mut content, mut rest) = (Vec::new(), Bytes::copy_from_slice(sent));
        let mut cuts = cuts.iter().copied().cycle();
        while !rest.is_empty() {
            let length = cuts.next().unwrap_or(rest.len()).clamp(1, rest.len());
            let mut input = rest.split_to(length);
            while let Some(piece) = part.decode(&mut input)? {
                content.extend_from_slice(&piece);
            }
        }
        part.finish().map(|()| content)
    }

    #[test]
    fn a_file_ends_at_the_boundary() {
        for (sent, expected) in [
            ("hello\r\n--b--\r\n", "hello"),
            ("hello\r\n--b\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n1", "hello"),
            ("\r\n--b--", ""),
            ("a\r\n--\r\r\n-\r\n--b--", "a\r\n--\r\r\n-"),
            ("--b\r\n--b--", "--b"),
        ] {
            for cuts in [&[][..], &[1], &[2, 3]] {
                let content = read(sent.as_bytes(), cuts, FormFile::new("b")).unwrap();
                assert_eq!(content, expected.as_bytes());
            }
        }
        assert!(read(b"hello\r\n--", &[], FormFile::new("b")).is_err());
    }

    #[test]
    fn lengths_are_limited() {
        for (allowed, expected) in [
            (0..=5, None),
            (0..=4, Some(FaultCode::EntityTooLarge)),
            (6..=9, Some(FaultCode::EntityTooSmall)),
        ] {
            let mut part = FormFile::new("b");
            part.limit(allowed, Some(5));
            let found = read(b"hello\r\n--b--\r\n", &[], part);
            assert_eq!(found.err().map(|fault| fault.code), expected);
        }
    }

    proptest! {
        #[test]
        fn files_arrive_however_they_are_cut(
            content in prop::collection::vec(prop::sample::select(b"\r\n-bx".to_vec()), 0..60),
            cuts in prop::collection::vec(1_usize..9, 1..5),
        ) {
            let sent = [&content[..], b"\r\n--boundary--\r\n"].concat();
            let found = read(&sent, &cuts, FormFile::new("boundary"));
            prop_assert_eq!(found, Ok(content));
        }
    }
}
