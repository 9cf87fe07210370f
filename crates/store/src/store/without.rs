//! A macro that implements the methods that a store does not support.

/// Implements the named methods of [`crate::Store`] or [`crate::Tables`] for a store without them.
/// Verbs are refused with [`crate::Kind::NotAllowed`]; all other methods return nothing. `links`
/// stands for a store that is [`crate::Confinement::Inherent`] and has no guards, `escapes` for a store that cannot be
/// confined, `tables` for one without tables and queues, `own_queues` for one with queues alone. Every
/// implementation of the trait names the methods it omits, so none is forgotten silently
/// (`clippy::missing_trait_methods`).
///
/// ```text
/// impl Store for Clock {
///     fn get(…) { … }
///     runnel_store::without!(put, post, merge, delete, list, keys, query, watch, tables);
///     …
/// }
/// ```
#[macro_export]
macro_rules! without {
    (@put) => { $crate::without!(@write put Put); };
    (@post) => { $crate::without!(@write post Post); $crate::without!(@appends); };
    (@merge) => { $crate::without!(@write merge Merge); };
    (@write $method:ident $verb:ident) => {
        fn $method(
            &self,
            reference: &$crate::Reference,
            _: $crate::Content,
            _: &$crate::Context,
        ) -> $crate::Answer<$crate::Outcome> {
            $crate::Error::not_allowed($crate::Verb::$verb, reference).into()
        }
    };
    (@delete) => {
        fn delete(
            &self,
            reference: &$crate::Reference,
            _: &$crate::Context,
        ) -> $crate::Answer<$crate::Outcome> {
            $crate::Error::not_allowed($crate::Verb::Delete, reference).into()
        }
    };
    (@list) => {
        fn list(
            &self,
            reference: &$crate::Reference,
            _: &$crate::Context,
        ) -> $crate::Answer<Option<Vec<$crate::Entry>>> {
            $crate::Error::not_allowed($crate::Verb::List, reference).into()
        }
    };
    (@keys) => {
        fn keys(
            &self,
            _: &$crate::Reference,
            _: &$crate::KeyRange,
            _: &$crate::Context,
        ) -> $crate::Answer<Option<$crate::KeyPage>> {
            $crate::Answer::ok(None)
        }
    };
    (@attributes) => {
        $crate::without!(@keeps_metadata);
        $crate::without!(@annotate);
        $crate::without!(@presign);
        $crate::without!(@fetch);
    };
    (@fetch) => {
        fn fetch(
            &self,
            reference: &$crate::Reference,
            _: $crate::FetchRequest,
            _: &$crate::Context,
        ) -> $crate::Answer<$crate::FetchAnswer> {
            $crate::no_web(reference).into()
        }
    };
    (@presign) => {
        fn presign(
            &self,
            reference: &$crate::Reference,
            _: $crate::Verb,
            _: std::time::Duration,
            _: &$crate::Context,
        ) -> $crate::Answer<String> {
            $crate::no_address(reference).into()
        }
    };
    (@appends) => {
        fn appends(&self, _: &$crate::Reference) -> bool {
            false
        }
    };
    (@keeps_metadata) => {
        fn keeps_metadata(&self, _: &$crate::Reference) -> bool {
            false
        }
    };
    (@annotate) => {
        fn annotate(
            &self,
            reference: &$crate::Reference,
            _: $crate::Attributes,
            _: &$crate::Context,
        ) -> $crate::Answer<$crate::Outcome> {
            $crate::Error::not_allowed($crate::Verb::Put, reference).into()
        }
    };
    (@relocate) => {
        fn relocate(
            &self,
            from: &$crate::Reference,
            _: &$crate::Reference,
            _: &$crate::Context,
        ) -> $crate::Answer<bool> {
            $crate::Error::not_allowed($crate::Verb::Put, from).into()
        }
    };
    (@query) => {
        fn query(
            &self,
            reference: &$crate::Reference,
            _: &$crate::Query,
            _: &$crate::Context,
        ) -> $crate::Answer<$crate::Content> {
            $crate::Error::not_allowed($crate::Verb::Query, reference).into()
        }
    };
    (@watch) => {
        fn watch(
            &self,
            reference: &$crate::Reference,
            _: &$crate::Context,
        ) -> $crate::Answer<$crate::Changes> {
            $crate::Error::not_allowed($crate::Verb::Watch, reference).into()
        }
    };
    (@tables) => {
        fn tables(&self) -> Option<&dyn $crate::Tables> {
            None
        }
        $crate::without!(@queues);
    };
    (@own_queues) => {
        fn tables(&self) -> Option<&dyn $crate::Tables> {
            None
        }
    };
    (@queues) => {
        fn queues(&self) -> Option<&dyn $crate::Queues> {
            None
        }
    };
    (@conditions) => {
        fn conditions(&self, _: &$crate::Reference) -> $crate::Conditions {
            $crate::Conditions::None
        }
    };
    (@guards) => {
        fn readmit(
            &self,
            _: $crate::Verb,
            _: &$crate::Reference,
            _: $crate::Content,
            _: u32,
            _: &$crate::Context,
        ) -> $crate::Answer<()> {
            $crate::Answer::ok(())
        }
    };
    (@links) => {
        $crate::without!(@guards);
        fn confined(&self, _: &$crate::Reference, _: bool) -> $crate::Confinement {
            $crate::Confinement::Inherent
        }
    };
    (@escapes) => {
        fn confined(&self, _: &$crate::Reference, _: bool) -> $crate::Confinement {
            $crate::Confinement::Impossible
        }
    };
    (@as_any) => {
        fn as_any(&self) -> Option<&dyn std::any::Any> {
            None
        }
    };
    (@sources) => {
        fn sources(&self) -> Vec<(String, std::rc::Rc<dyn $crate::Store>)> {
            Vec::new()
        }
    };
    (@insert) => {
        fn insert(
            &self,
            reference: &$crate::Reference,
            _: Box<dyn $crate::Records>,
            _: &$crate::Context,
        ) -> $crate::Answer<u64> {
            $crate::Error::not_allowed($crate::Verb::Post, reference).into()
        }
    };
    (@change_all) => {
        fn change_all(
            &self,
            reference: &$crate::Reference,
            _: &$crate::Query,
            _: &$crate::BulkChange,
            _: &$crate::Context,
        ) -> $crate::Answer<$crate::Value> {
            $crate::Error::not_allowed($crate::Verb::Merge, reference).into()
        }
    };
    (@explain) => {
        fn explain(
            &self,
            reference: &$crate::Reference,
            _: &$crate::Query,
            _: bool,
            _: &$crate::Context,
        ) -> $crate::Answer<$crate::Value> {
            $crate::Error::not_allowed($crate::Verb::Query, reference).into()
        }
    };
    (@run) => {
        fn run(
            &self,
            reference: &$crate::Reference,
            _: &str,
            _: Vec<$crate::Value>,
            _: &$crate::Context,
        ) -> $crate::Answer<$crate::Content> {
            $crate::Error::not_allowed($crate::Verb::Query, reference).into()
        }
    };
    (@migrate) => {
        fn migrate(
            &self,
            reference: &$crate::Reference,
            _: $crate::Migration,
            _: &$crate::Context,
        ) -> $crate::Answer<Vec<String>> {
            $crate::Error::not_allowed($crate::Verb::Define, reference).into()
        }
    };
    (@define) => {
        fn define(
            &self,
            reference: &$crate::Reference,
            _: &$crate::Shape,
        ) -> $crate::Answer<std::rc::Rc<dyn $crate::Store>> {
            $crate::Error::not_allowed($crate::Verb::Define, reference).into()
        }
    };
    (@key_value_store) => {
        fn key_value_store(
            &self,
            reference: &$crate::Reference,
        ) -> $crate::Answer<std::rc::Rc<dyn $crate::Store>> {
            $crate::Error::not_allowed($crate::Verb::Define, reference).into()
        }
    };
    (@snapshot) => {
        fn snapshot(
            &self,
            reference: &$crate::Reference,
            _: &$crate::Context,
        ) -> $crate::Answer<$crate::Content> {
            $crate::Error::not_allowed($crate::Verb::Get, reference).into()
        }
    };
    (@back_up) => {
        fn back_up(
            &self,
            reference: &$crate::Reference,
            _: $crate::BackupOrder,
        ) -> $crate::Answer<std::rc::Rc<dyn $crate::ContinuousBackup>> {
            $crate::Error::not_allowed($crate::Verb::Get, reference).into()
        }
    };
    (@vacuum) => {
        fn vacuum(&self, reference: &$crate::Reference, _: &$crate::Context) -> $crate::Answer<()> {
            $crate::Error::not_allowed($crate::Verb::Define, reference).into()
        }
    };
    (@begin) => {
        fn begin(
            &self,
            reference: &$crate::Reference,
            _: Option<$crate::Isolation>,
            _: &$crate::Context,
        ) -> $crate::Answer<std::rc::Rc<dyn $crate::Transaction>> {
            $crate::Error::not_allowed($crate::Verb::Begin, reference).into()
        }
    };
    ($($method:ident),* $(,)?) => { $($crate::without!(@$method);)* };
}
