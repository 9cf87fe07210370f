//! Runnel in Zed: tells the editor how the language server starts.

use zed_extension_api::{
    self as zed, Command, LanguageServerId, Result, Worktree, settings::LspSettings,
};

struct Runnel;

impl zed::Extension for Runnel {
    fn new() -> Self {
        Runnel
    }

    /// `runnel lsp`, from the settings (`lsp.runnel.binary.path`) or the `PATH`.
    fn language_server_command(&mut self, id: &LanguageServerId, tree: &Worktree) -> Result<Command> {
        let binary = LspSettings::for_worktree(id.as_ref(), tree)?.binary;
        let path = binary.as_ref().and_then(|binary| binary.path.clone());
        let command = path.or_else(|| tree.which("runnel")).ok_or(
            "`runnel` is not on the PATH: install it, or set `lsp.runnel.binary.path` in the settings",
        )?;
        let args = binary.and_then(|binary| binary.arguments);
        Ok(Command {
            command,
            args: args.unwrap_or_else(|| vec!["lsp".to_owned()]),
            env: tree.shell_env(),
        })
    }
}

zed::register_extension!(Runnel);
