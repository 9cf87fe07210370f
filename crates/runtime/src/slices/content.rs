//! Large content as objects of the engine, built in slices.

use super::build::{BuildSource, build, build_tape, engine_bytes, measure};
use crate::engine::stack::Slot;
use crate::fibers::fiber::Fiber;
use crate::isolate::Isolate;
use crate::values::kind::Origin;
use runnel_store::json::{Document, TapeSize};
use runnel_store::{Body, Content, Context as Call, Error, Kind};

/// Whether content is so large that its objects are made in slices.
pub(crate) fn is_large_content(content: &Content) -> bool {
    match &content.body {
        Body::Value(value) => value.is_large(),
        Body::Lazy(lazy) => lazy.as_any().is::<Document>(),
        _ => false,
    }
}

/// The object that large content is, built in slices; an instance of its class where it has one.
pub(crate) async fn build_content(
    isolate: Isolate,
    call: Call,
    content: Content,
    origin: Origin,
) -> Result<Slot, Error> {
    let built = match content.body {
        Body::Value(value) => {
            let mut size = TapeSize::default();
            measure(&value, &mut size);
            super::hold(&isolate, &call, engine_bytes(size)).await?;
            build(isolate.clone(), BuildSource::of_value(value), origin).await?
        }
        Body::Lazy(lazy) => match lazy.as_any().downcast_ref::<Document>() {
            Some(document) => {
                // It waits in memory until its objects are built.
                call.hold_arrived(document.0.memory())?;
                build_tape(isolate.clone(), &call, document.0.clone(), origin).await?
            }
            None => return Err(Error::new(Kind::Failed, "this content is not plain data")),
        },
        _ => return Err(Error::new(Kind::Failed, "this content is not plain data")),
    };
    let Some(class) = content.class else { return Ok(built) };
    let fiber = Fiber::new(
        &isolate,
        call,
        |stack| {
            stack.push_kept(isolate.slots().instantiate);
            stack.push_kept(built);
            stack.release(built);
            stack.push_bytes(class.as_bytes());
            2
        },
        |_, stack, index| {
            stack.push_copy(index);
            stack.keep()
        },
    );
    fiber.await.map_err(|fault| fault.into_error(&isolate))
}
