//! Source maps: which place of a source a line of its Lua stands for.
//!
//! The compiler begins a line of Lua at each place of the source, and the name of a chunk ends in the number of its
//! map. Frames of the engine keep both numbers; they become a line and a column only where an error is read.

use runnel_store::ProgramPlace;
use runnel_syntax::{Definition, LineIndex, Span, definition_at};
use rustc_hash::FxHashMap;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// Stands before the number of the map in the name of a chunk.
const SEPARATOR: u8 = 1;
/// Maps of an isolate: of more, the oldest is forgotten, and its frames have no line.
const MOST_MAPS: usize = 4_096;

thread_local! {
    /// The maps of the isolates of this thread.
    static MAPS: RefCell<FxHashMap<u32, Rc<SourceMap>>> = RefCell::default();
    static LAST: Cell<u32> = const { Cell::new(0) };
}

/// A frame of a program as the engine knows it.
#[derive(Clone, Copy)]
pub(crate) struct EngineFrame<'a> {
    /// The name of the source.
    pub(crate) source: &'a [u8],
    /// The number of its map, 0 for Lua without one.
    pub(crate) map: u32,
    /// The line of the Lua.
    pub(crate) line: u32,
}

/// A place of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SourcePlace {
    /// From 1; 0 where it is not known.
    pub(crate) line: u32,
    /// In characters, from 1; 0 where it is not known.
    pub(crate) column: u32,
    /// How many characters of the line it takes.
    pub(crate) width: u32,
}

struct SourceMap {
    source: Rc<str>,
    places: Vec<Span>,
    definitions: Vec<Definition>,
    lines: OnceCell<LineIndex>,
    /// The places that logs name, by the line of the Lua: a text is made once for each.
    logged: RefCell<FxHashMap<u32, ProgramPlace>>,
}

impl SourceMap {
    fn place(&self, line: u32) -> SourcePlace {
        let Some(span) = self.span(line) else { return SourcePlace::default() };
        let index = self.lines.get_or_init(|| LineIndex::new(&self.source));
        let (line, column) = index.position(&self.source, span.start);
        let width = span.text(&self.source).lines().next().unwrap_or("").trim_end();
        SourcePlace { line, column, width: width.chars().count() as u32 }
    }

    fn span(&self, line: u32) -> Option<Span> {
        self.places.get(line.checked_sub(1)? as usize).copied()
    }
}

impl<'a> EngineFrame<'a> {
    /// From the name of a chunk, without the sign that it begins with.
    pub(crate) fn new(chunk: &'a [u8], line: u32) -> EngineFrame<'a> {
        let (source, map) = match chunk.iter().rposition(|byte| *byte == SEPARATOR) {
            Some(at) => (&chunk[..at], std::str::from_utf8(&chunk[at + 1..]).unwrap_or("")),
            None => (chunk, ""),
        };
        EngineFrame { source, map: map.parse().unwrap_or(0), line }
    }

    fn mapped<T>(&self, read: impl FnOnce(&SourceMap) -> T) -> Option<T> {
        // A copy: what reads may be interrupted by the hook, which reads as well.
        let map = MAPS.with_borrow(|maps| maps.get(&self.map).cloned());
        map.map(|map| read(&map))
    }

    /// Where in the source it is.
    pub(crate) fn place(&self) -> SourcePlace {
        match self.map {
            0 => SourcePlace { line: self.line, column: 0, width: 0 },
            _ => self.mapped(|map| map.place(self.line)).unwrap_or_default(),
        }
    }

    /// What the source names there: a method, a handler of a path.
    pub(crate) fn definition(&self) -> Option<String> {
        self.mapped(|map| {
            let span = map.span(self.line)?;
            definition_at(&map.definitions, span.start).map(|one| one.name.clone())
        })?
    }

    /// Its source and line for a log.
    pub(crate) fn logged(&self) -> ProgramPlace {
        let intern = || {
            let source = String::from_utf8_lossy(self.source);
            ProgramPlace::intern(&format!("{source}:{}", self.place().line))
        };
        let known = self.mapped(|map| map.logged.borrow().get(&self.line).copied());
        match known {
            Some(Some(place)) => place,
            Some(None) => {
                let place = intern();
                self.mapped(|map| map.logged.borrow_mut().insert(self.line, place));
                place
            }
            None => intern(),
        }
    }
}

/// The maps of an isolate.
#[derive(Default)]
pub(crate) struct SourceMaps {
    numbers: RefCell<VecDeque<u32>>,
}

impl SourceMaps {
    /// Keeps a map, unless it is there; answers the name of its chunk.
    pub(crate) fn chunk_name(
        &self,
        name: &str,
        source: &Rc<str>,
        places: Vec<Span>,
        definitions: Vec<Definition>,
    ) -> String {
        let number = self.kept(source, &places).unwrap_or_else(|| {
            let map = SourceMap {
                source: source.clone(),
                places,
                definitions,
                lines: OnceCell::new(),
                logged: RefCell::default(),
            };
            self.keep(map)
        });
        format!("{}{}{number}", name.replace(char::from(SEPARATOR), "?"), char::from(SEPARATOR))
    }

    /// A file that handlers load again and again has one map.
    fn kept(&self, source: &Rc<str>, places: &[Span]) -> Option<u32> {
        let numbers = self.numbers.borrow();
        MAPS.with_borrow(|maps| {
            numbers.iter().copied().find(|number| {
                maps.get(number).is_some_and(|map| map.source == *source && map.places == places)
            })
        })
    }

    fn keep(&self, map: SourceMap) -> u32 {
        let number = LAST.get() + 1;
        LAST.set(number);
        let mut numbers = self.numbers.borrow_mut();
        numbers.push_back(number);
        let oldest = if numbers.len() > MOST_MAPS { numbers.pop_front() } else { None };
        MAPS.with_borrow_mut(|maps| {
            maps.insert(number, Rc::new(map));
            oldest.and_then(|oldest| maps.remove(&oldest))
        });
        number
    }
}

impl Drop for SourceMaps {
    fn drop(&mut self) {
        // The thread may end as well, and its maps with it.
        let _ = MAPS.try_with(|maps| {
            if let Ok(mut maps) = maps.try_borrow_mut() {
                self.numbers.borrow().iter().for_each(|number| drop(maps.remove(number)));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(maps: &SourceMaps, source: &str) -> String {
        maps.chunk_name("a.st", &source.into(), vec![Span::default(), Span::new(6, 9)], Vec::new())
    }

    #[test]
    fn a_line_of_lua_is_a_place_of_the_source() {
        let maps = SourceMaps::default();
        let chunk = keep(&maps, "ä := \nfoo bar");
        let frame = EngineFrame::new(chunk.as_bytes(), 2);
        assert_eq!(frame.source, b"a.st");
        assert_eq!(frame.place(), SourcePlace { line: 1, column: 6, width: 0 });
        assert_eq!(keep(&maps, "ä := \nfoo bar"), chunk);
        assert_ne!(keep(&maps, "other text"), chunk);
        drop(maps);
        assert_eq!(frame.place(), SourcePlace::default());
        assert_eq!(EngineFrame::new(b"std/x", 7).place().line, 7);
    }

    #[test]
    fn the_oldest_map_is_forgotten() {
        let maps = SourceMaps::default();
        let names: Vec<String> =
            (0..MOST_MAPS + 1).map(|number| keep(&maps, &format!("source {number}"))).collect();
        let line = |name: &str| EngineFrame::new(name.as_bytes(), 2).place().line;
        assert_eq!((line(&names[0]), line(&names[1])), (0, 1));
    }
}
