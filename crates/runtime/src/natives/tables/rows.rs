//! Rows by their keys, several at once.

use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use crate::natives::stores::{any_store, inner_call};
use futures_util::{StreamExt, TryStreamExt, stream};
use runnel_store::{Answer, Context as Call, Reference};

pub(crate) const NATIVES: [(&str, Native); 1] = [("getAll", get_all)];

/// Reads of one program that are under way at once, where a store answers later.
const AT_ONCE: usize = 16;

/// `(store, paths, first, last)`: what the store answers at these paths, as an array.
fn get_all(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let call = Call { untagged: true, ..inner_call(isolate) };
    let stack = arguments.0;
    let read = |position| {
        stack.get_element(2, position);
        let reference = Reference::from_path(stack.text(-1));
        stack.pop(1);
        store.get(&reference, &call)
    };
    let (first, last) = (arguments.number(3) as usize, arguments.number(4) as usize);
    let mut found = Vec::with_capacity(last + 1 - first.min(last));
    for position in first..=last {
        match read(position) {
            Answer::Ready(content) => found.push(attempt!(content)),
            later => {
                let rest: Vec<_> = (position + 1..=last).map(read).collect();
                return Reply::later(async move {
                    let answers = stream::iter(std::iter::once(later).chain(rest));
                    found.extend(answers.buffered(AT_ONCE).try_collect::<Vec<_>>().await?);
                    Ok(Given::Contents(found))
                });
            }
        }
    }
    Reply::Now(Given::Contents(found))
}
