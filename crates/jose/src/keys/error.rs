//! Why a key is refused.

/// Why a key cannot be used. The text never contains a part of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyError(pub String);

impl std::fmt::Display for KeyError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for KeyError {}

pub(crate) fn wrong<T>(message: impl Into<String>) -> Result<T, KeyError> {
    Err(KeyError(message.into()))
}
