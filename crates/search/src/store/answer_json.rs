//! The JSON of a search: its answer, documents, highlights and facets.

use super::SearchStore;
use super::search_parameters::SearchParameters;
use crate::answer::search_answer::SearchAnswer;
use crate::collection::id::Id;
use crate::error::{ConfigError, RequestError};
use crate::format::json::write_string;
use crate::request::Request;
use crate::site::PageSource;
use runnel_store::{Error, Kind, Result};

/// The initial capacity of an answer.
const ROOM: usize = 1_024;

impl SearchStore {
    /// Searches and writes the answer.
    pub(super) fn search_json(
        &self,
        asked: &SearchParameters<'_>,
        found: &mut SearchAnswer,
    ) -> Result<Vec<u8>> {
        let search = self.searching();
        let filter = asked.filter.as_deref().map(|text| search.filter(text)).transpose();
        let filter = filter.map_err(|error| invalid_parameter("filter", &error))?;
        let order = asked.sort.as_deref().map(|text| search.order(text)).transpose();
        let order = order.map_err(|error| invalid_parameter("sort", &error))?;
        let mut request = Request::new()
            .ids(asked.ids)
            .offset(asked.offset)
            .unique(asked.unique)
            .flat(asked.flat);
        if let Some(filter) = &filter {
            request = request.filter(filter);
        }
        if let Some(order) = &order {
            request = request.order(order);
        }
        self.search_into(&asked.query, &request, found);
        let mut out = Vec::with_capacity(ROOM);
        if asked.documents {
            self.write_with_documents(found, &mut out);
        } else {
            found.write_json(&mut out);
        }
        if !(asked.highlight.is_empty() && asked.snippet.is_empty()) {
            // Insert before the end of the object.
            out.pop();
            out.extend_from_slice(b",\"highlights\":");
            self.write_highlights(asked, found, &mut out);
            out.push(b'}');
        }
        if !asked.facets.is_empty() {
            // Insert before the end of the object.
            out.pop();
            out.extend_from_slice(b",\"facets\":{");
            for (number, category) in asked.facets.iter().enumerate() {
                if number > 0 {
                    out.push(b',');
                }
                write_string(category, &mut out);
                out.extend_from_slice(b":{");
                let query = Some(&*asked.query).filter(|query| !query.trim().is_empty());
                let values = search
                    .facets_passing(category, query, filter.as_ref(), asked.at_least)
                    .map_err(|error| invalid_config(&error))?;
                for (number, (value, count)) in values.iter().enumerate() {
                    if number > 0 {
                        out.push(b',');
                    }
                    write_string(value, &mut out);
                    out.push(b':');
                    out.extend_from_slice(itoa::Buffer::new().format(*count).as_bytes());
                }
                out.push(b'}');
            }
            out.extend_from_slice(b"}}");
        }
        Ok(out)
    }

    /// Writes the answer with the documents of each allocation as a sixth element, in the order of
    /// their identifiers.
    fn write_with_documents(&self, found: &SearchAnswer, out: &mut Vec<u8>) {
        found.write_json_with(out, |row, out| {
            out.push(b',');
            let ids = row.ids().iter().map(|id| (row.index(), id));
            self.write_documents(ids, out);
        });
        if let Some(flat) = &found.flat {
            // The documents of the flat list.
            out.pop();
            out.extend_from_slice(b",\"documents\":");
            self.write_documents(flat.ids.iter().map(|(index, id)| (usize::from(*index), id)), out);
            out.push(b'}');
        }
    }

    /// A list of documents, with null for those that the index does not store.
    fn write_documents<'a>(&self, ids: impl Iterator<Item = (usize, &'a Id)>, out: &mut Vec<u8>) {
        out.push(b'[');
        for (number, (index, id)) in ids.enumerate() {
            if number > 0 {
                out.push(b',');
            }
            match self.document(index, id) {
                Some(document) => out.extend_from_slice(&document),
                None => out.extend_from_slice(b"null"),
            }
        }
        out.push(b']');
    }
}

fn invalid_parameter(name: &str, error: &RequestError) -> Error {
    Error::new(Kind::Invalid, format!("the parameter `{name}`, {error}"))
}

fn invalid_config(error: &ConfigError) -> Error {
    Error::new(Kind::Invalid, error.message())
}
