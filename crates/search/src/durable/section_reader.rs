//! A reader of sections that trusts no length and no number.

/// A section with a valid checksum and invalid content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DamagedFile;

/// A cursor over a section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SectionReader<'a> {
    left: &'a [u8],
}

impl<'a> SectionReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> SectionReader<'a> {
        SectionReader { left: bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// The remaining bytes.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.left)
    }

    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], DamagedFile> {
        let (taken, left) = self.left.split_at_checked(length).ok_or(DamagedFile)?;
        self.left = left;
        Ok(taken)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, DamagedFile> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn u32(&mut self) -> Result<u32, DamagedFile> {
        Ok(self.take(4)?.first_chunk().copied().map_or(0, u32::from_le_bytes))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, DamagedFile> {
        Ok(self.take(8)?.first_chunk().copied().map_or(0, u64::from_le_bytes))
    }

    /// A text after its length.
    pub(crate) fn text(&mut self) -> Result<&'a str, DamagedFile> {
        let length = self.u32()? as usize;
        std::str::from_utf8(self.take(length)?).map_err(|_| DamagedFile)
    }

    /// A count of elements of at least `size` bytes each; at most as many as the section can hold.
    pub(crate) fn count(&mut self, size: usize) -> Result<usize, DamagedFile> {
        let count = usize::try_from(self.u64()?).map_err(|_| DamagedFile)?;
        if count > self.left.len() / size { Err(DamagedFile) } else { Ok(count) }
    }

    pub(crate) fn u32s(
        &mut self,
        count: usize,
    ) -> Result<impl ExactSizeIterator<Item = u32> + 'a, DamagedFile> {
        let bytes = self.take(count.checked_mul(4).ok_or(DamagedFile)?)?;
        Ok(bytes.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)))
    }

    pub(crate) fn u64s(
        &mut self,
        count: usize,
    ) -> Result<impl ExactSizeIterator<Item = u64> + 'a, DamagedFile> {
        let bytes = self.take(count.checked_mul(8).ok_or(DamagedFile)?)?;
        Ok(bytes.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)))
    }
}
