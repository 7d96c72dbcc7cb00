//! The words of a recipient.

use crate::OmrError;
use omr_client::os_rng;
use std::sync::Arc;
use zeroize::Zeroizing;

/// 24 words of BIP-39, English list, from which a recipient's keys are made: the same ones with every later version.
///
/// Who has the words has the secret. Keep them on paper. They are wiped when the object is closed.
#[derive(uniffi::Object)]
pub struct Words {
    pub(crate) inner: omr_client::Words,
}

#[uniffi::export]
impl Words {
    /// Returns new words.
    #[uniffi::constructor]
    pub fn generate() -> Arc<Self> {
        Arc::new(Self {
            inner: omr_client::Words::generate(&mut os_rng()),
        })
    }

    /// Reads words. Case, blanks, line ends and numbers between them do not matter. Errors of the kind `Words` repeat
    /// none of them.
    #[uniffi::constructor]
    pub fn parse(text: String) -> Result<Arc<Self>, OmrError> {
        let text = Zeroizing::new(text);
        let inner = omr_client::Words::parse(&text)?;
        Ok(Arc::new(Self { inner }))
    }

    /// Returns the words in their order, to be shown to their owner.
    pub fn each(&self) -> Vec<String> {
        self.inner.each().map(str::to_owned).collect()
    }
}
