//! The classes and messages of the kernel, as their definitions say.

use runnel_catalogue::Catalogue;
use std::borrow::Cow;
use std::sync::OnceLock;

/// Read once for the process, when something first asks.
pub fn catalogue() -> &'static Catalogue {
    static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
    CATALOGUE.get_or_init(|| {
        let mut catalogue = Catalogue::parse(&definitions());
        // Combinators are defined in Rust, with one line of help.
        for combinator in runnel_store::combinators() {
            let mut rest = combinator.help.chars();
            let first = rest.next().unwrap_or_default().to_uppercase();
            catalogue.describe(combinator.class, &format!("{first}{}.", rest.as_str()));
        }
        catalogue
    })
}

fn definitions() -> Cow<'static, str> {
    const TEXT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/catalogue.zst"));
    #[cfg(debug_assertions)]
    if let Some(definitions) = definitions_of_folder() {
        return definitions.into();
    }
    let text = zstd::decode_all(TEXT).map(String::from_utf8);
    text.expect("`build.rs` compressed it").expect("it compressed text").into()
}

/// The definitions in the folder that `RUNNEL_KERNEL` names, which a debug build reads without a build.
#[cfg(debug_assertions)]
fn definitions_of_folder() -> Option<String> {
    let folder = std::env::var_os("RUNNEL_KERNEL")?;
    let folder = std::path::Path::new(&folder);
    let sources = crate::kernel::texts_in(folder)?;
    let files = sources.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    let classes = std::fs::read_to_string(folder.join("classes.txt")).unwrap_or_default();
    match runnel_catalogue::extract::extract(files) {
        Ok(definitions) => Some(definitions + &classes),
        Err(why) => {
            tracing::warn!("definitions of the kernel: {why}");
            None
        }
    }
}
