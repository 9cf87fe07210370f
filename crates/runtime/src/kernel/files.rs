//! The files of the kernel, by room, in the order in which they are loaded.
//!
//! This is the only place that states the order. A file uses at load time only what files before it
//! define; `cargo xtask tidy` checks that, and that no file of the folder is missing here.

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!($name))),*]
    };
}

/// The name and the text of each file.
pub(super) const FILES: &[(&str, &str)] = files![
    "core/core.lua",
    "core/native.lua",
    "core/object.lua",
    "core/print.lua",
    "values/number.lua",
    "values/big.lua",
    "values/digits.lua",
    "core/boolean.lua",
    "core/block.lua",
    "text/string.lua",
    "text/string_conversion.lua",
    "collections/collection.lua",
    "collections/ordering.lua",
    "collections/array.lua",
    "collections/dictionary.lua",
    "collections/interval.lua",
    "collections/enumerator.lua",
    "collections/set.lua",
    "values/point.lua",
    "core/property.lua",
    "core/literal.lua",
    "collections/higher_order.lua",
    "values/data.lua",
    "values/secrets.lua",
    "values/time.lua",
    "text/mutable_text.lua",
    "core/contract.lua",
    "text/json.lua",
    "text/json_parse.lua",
    "streams/stream.lua",
    "streams/filter.lua",
    "streams/pipeline.lua",
    "core/fiber.lua",
    "stores/segment.lua",
    "stores/scheme.lua",
    "stores/reference.lua",
    "stores/path.lua",
    "stores/store.lua",
    "stores/combine.lua",
    "stores/combinators.lua",
    "stores/remote.lua",
    "search/page.lua",
    "stores/logging.lua",
    "stores/template.lua",
    "core/define.lua",
    "stores/connect.lua",
    "stores/changes.lua",
    "net/live.lua",
    "pages/markup.lua",
    "pages/element.lua",
    "pages/attribute.lua",
    "tables/rows.lua",
    "tables/table.lua",
    "tables/database.lua",
    "tables/cells.lua",
    "tables/insert.lua",
    "search/search.lua",
    "program/program.lua",
    "net/observe.lua",
    "net/routes.lua",
];
