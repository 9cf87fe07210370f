//! Commands about databases: `backup` with `restore` and `vacuum`, `dump` with `load`, `migrate`. `shipping` is the
//! continuous kind of `backup`; `resources` are what these commands name.

pub(crate) mod backup;
pub(crate) mod dump;
pub(crate) mod migrate;
pub(crate) mod resources;
pub(crate) mod shipping;
