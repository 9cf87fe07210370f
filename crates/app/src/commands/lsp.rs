//! `runnel lsp`

use crate::commands::doc::groups::kind_name;
use crate::console::Console;
use crate::exit_status;
use crate::run::RunningProgram;
use crate::world::options::{OptionOwner, owners};
use crate::world::schemes::SCHEMES;
use runnel_lsp::{Knowledge, KnownOption, KnownScheme};

/// Serves one editor until it leaves; the status is 1 when it does not leave in order.
pub(crate) fn run() -> u8 {
    let knowledge = match knowledge() {
        Ok(knowledge) => knowledge,
        Err(message) => {
            Console::error(&format!("error: {message}"));
            return exit_status::SOFTWARE;
        }
    };
    match runnel_lsp::serve(knowledge, std::io::stdin(), std::io::stdout()) {
        true => 0,
        false => 1,
    }
}

/// What the kernel and the command define. The isolate runs nothing.
fn knowledge() -> Result<Knowledge, String> {
    let program = RunningProgram::new()?;
    let facts = program.isolate.kernel_facts();
    let names = program.isolate.scheme_names();
    std::mem::forget(program);
    let schemes = SCHEMES.iter().map(|scheme| KnownScheme {
        name: scheme.name.to_owned(),
        help: scheme.help.to_owned(),
        example: scheme.example.to_owned(),
    });
    let classes = owners().into_iter().filter(OptionOwner::is_class);
    let options = classes.map(|owner| (owner.name.to_owned(), options(&owner))).collect();
    Ok(Knowledge::new(runnel_runtime::catalogue(), &facts, names, schemes.collect(), options))
}

fn options(owner: &OptionOwner) -> Vec<KnownOption> {
    let option = |info: &runnel_store::SettingInfo| KnownOption {
        name: info.name.to_owned(),
        kind: kind_name(info.kind).to_owned(),
        default: info.default.clone(),
        help: info.help.to_owned(),
    };
    owner.options.iter().map(option).collect()
}
