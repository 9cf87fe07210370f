//! What clients send, against what handlers declare.

use crate::engine::stack::Type;
use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use crate::slices::data::read_value;
use crate::values::handle::ObjectHandle;
use crate::values::instances::push_sent_instance;
use crate::values::kind::Origin;
use crate::values::push::push_data_of;
use bytes::Bytes;
use runnel_store::{
    AT_ONCE, Content, Contract, DATA_POOL, Error, Kind, RecordUse, Result, Value, json,
    parse_permit,
};
use std::rc::Rc;
use std::sync::Arc;

pub(crate) const NATIVES: [(&str, Native); 2] =
    [("contract", contract), ("obeyContract", obey_contract)];

/// A contract in the hands of the program.
struct HeldContract(Arc<Contract>);

/// `(description)`: a contract.
fn contract(isolate: &Isolate, arguments: Arguments) -> Reply {
    let described = attempt!(arguments.value(isolate, 1));
    Reply::Now(Given::Native(Rc::new(HeldContract(Arc::new(Contract::read(&described))))))
}

/// `(contract, JSON text or plain data, use, whether all values are texts of a form, class or nil)`: plain
/// data that obeys, for a class usually as an instance; or an error with everything that is wrong.
fn obey_contract(isolate: &Isolate, arguments: Arguments) -> Reply {
    let contract = attempt!(arguments.held::<HeldContract>("a contract")).0.clone();
    let purpose = match arguments.bytes(3) {
        b"change" => RecordUse::Change,
        b"replace" => RecordUse::Replace,
        _ => RecordUse::Create,
    };
    let stack = arguments.0;
    if stack.kind(2) == Type::Text {
        let text = Bytes::copy_from_slice(arguments.bytes(2));
        if text.len() > AT_ONCE && stack.can_wait() {
            return Reply::later(async move {
                let _permit = parse_permit(text.len()).await?;
                let value = DATA_POOL.attempt(move || parsed(&text, &contract, purpose)).await?;
                Ok(Given::Content(Some(Content::value(value))))
            });
        }
        return give(isolate, arguments, attempt!(parsed(&text, &contract, purpose)));
    }
    let value = attempt!(read_value(isolate, stack, 2));
    let value = if arguments.boolean(4) { contract.from_texts(value) } else { value };
    give(isolate, arguments, attempt!(obeying(value, &contract, purpose)))
}

fn parsed(text: &[u8], contract: &Contract, purpose: RecordUse) -> Result<Value> {
    // Nested too deep, which is no limit on the size of a request.
    let value = json::parse(text).map_err(|error| Error { kind: Kind::Invalid, ..error })?;
    obeying(value, contract, purpose)
}

fn obeying(value: Value, contract: &Contract, purpose: RecordUse) -> Result<Value> {
    contract.check(&value, purpose, &[])?;
    Ok(contract.without_unknown(value))
}

/// Plain data that counts as a client's, or the instance that it is for.
fn give(isolate: &Isolate, arguments: Arguments, value: Value) -> Reply {
    let stack = arguments.0;
    stack.reserve(8);
    let class = (!arguments.is_nil(5)).then(|| Rc::from(arguments.text(5)));
    let is_made = class.is_some_and(|class| push_sent_instance(isolate, stack, &class, &value));
    if !is_made {
        push_data_of(isolate, stack, &value, Origin::Client);
    }
    Reply::Now(Given::Object(ObjectHandle::of_top(isolate, stack)))
}
