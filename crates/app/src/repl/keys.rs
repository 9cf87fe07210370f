//! The keys of the prompt: those of Emacs, with Tab for the menu of proposals.
//!
//! Enter runs the line. It takes a proposal instead only after the person went into the menu, by a second Tab or an
//! arrow: the menu opens with its first proposal marked, which is no choice yet.

use reedline::{
    EditMode, Emacs, KeyCode, KeyModifiers, PromptEditMode, ReedlineEvent, ReedlineRawEvent,
    default_emacs_keybindings,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Where the menu of proposals is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MenuState {
    Closed,
    /// Shown; nothing is chosen in it.
    Open,
    /// A proposal was chosen.
    Entered,
}

/// The keys, with what they know of the menu.
pub(crate) struct PromptKeys {
    emacs: Emacs,
    menu: MenuState,
    /// How many proposals the last request gave; a single one is taken at once, without a menu.
    offered: Arc<AtomicUsize>,
}

impl PromptKeys {
    pub(crate) fn new(menu: &str, offered: Arc<AtomicUsize>) -> PromptKeys {
        let mut keys = default_emacs_keybindings();
        let open = ReedlineEvent::Menu(menu.into());
        let tab = ReedlineEvent::UntilFound(vec![open, ReedlineEvent::MenuNext]);
        keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, tab);
        PromptKeys { emacs: Emacs::new(keys), menu: MenuState::Closed, offered }
    }

    /// What the key does, given what it does in Emacs.
    fn next(&mut self, event: ReedlineEvent) -> ReedlineEvent {
        if self.offered.load(Ordering::Relaxed) < 2 {
            self.menu = MenuState::Closed;
        }
        let is_menu =
            |events: &[ReedlineEvent], is: fn(&ReedlineEvent) -> bool| events.iter().any(is);
        let (menu, event) = match (&event, self.menu) {
            (ReedlineEvent::Enter, MenuState::Entered) => (MenuState::Closed, event),
            (ReedlineEvent::Enter, _) => {
                let run = ReedlineEvent::Multiple(vec![ReedlineEvent::Esc, event]);
                (MenuState::Closed, run)
            }
            (ReedlineEvent::UntilFound(all), state)
                if is_menu(all, |one| matches!(one, ReedlineEvent::Menu(_))) =>
            {
                match state {
                    MenuState::Closed => {
                        // What the request gives is known when the next key comes.
                        self.offered.store(usize::MAX, Ordering::Relaxed);
                        (MenuState::Open, event)
                    }
                    // The first proposal is marked: it is chosen.
                    MenuState::Open => (MenuState::Entered, ReedlineEvent::Repaint),
                    MenuState::Entered => (MenuState::Entered, event),
                }
            }
            (ReedlineEvent::UntilFound(all), MenuState::Open | MenuState::Entered)
                if is_menu(all, is_movement) =>
            {
                (MenuState::Entered, event)
            }
            (ReedlineEvent::None | ReedlineEvent::Repaint | ReedlineEvent::Resize(..), state) => {
                (state, event)
            }
            (ReedlineEvent::Edit(_), MenuState::Open | MenuState::Entered) => {
                (MenuState::Open, event)
            }
            _ => (MenuState::Closed, event),
        };
        self.menu = menu;
        event
    }
}

fn is_movement(event: &ReedlineEvent) -> bool {
    matches!(
        event,
        ReedlineEvent::MenuUp
            | ReedlineEvent::MenuDown
            | ReedlineEvent::MenuLeft
            | ReedlineEvent::MenuRight
            | ReedlineEvent::MenuPrevious
            | ReedlineEvent::MenuNext
    )
}

impl EditMode for PromptKeys {
    fn parse_event(&mut self, event: ReedlineRawEvent) -> ReedlineEvent {
        let event = self.emacs.parse_event(event);
        self.next(event)
    }

    fn edit_mode(&self) -> PromptEditMode {
        self.emacs.edit_mode()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(offered: usize) -> PromptKeys {
        let keys = PromptKeys::new("proposals", Arc::new(AtomicUsize::new(offered)));
        keys.offered.store(offered, Ordering::Relaxed);
        keys
    }

    fn tab() -> ReedlineEvent {
        ReedlineEvent::UntilFound(vec![
            ReedlineEvent::Menu("proposals".into()),
            ReedlineEvent::MenuNext,
        ])
    }

    fn runs(event: &ReedlineEvent) -> bool {
        matches!(event, ReedlineEvent::Multiple(all) if all.contains(&ReedlineEvent::Enter))
    }

    #[test]
    fn enter_after_one_tab_runs_the_line() {
        let mut keys = keys(0);
        assert_eq!(keys.next(tab()), tab());
        keys.offered.store(7, Ordering::Relaxed);
        assert!(runs(&keys.next(ReedlineEvent::Enter)));
        assert!(runs(&keys.next(ReedlineEvent::Enter)));
    }

    #[test]
    fn enter_in_the_menu_takes_the_proposal() {
        let mut keys = keys(0);
        keys.next(tab());
        keys.offered.store(7, Ordering::Relaxed);
        assert_eq!(keys.next(tab()), ReedlineEvent::Repaint);
        assert_eq!(keys.next(tab()), tab());
        assert_eq!(keys.next(ReedlineEvent::Enter), ReedlineEvent::Enter);
        assert!(runs(&keys.next(ReedlineEvent::Enter)));
    }

    #[test]
    fn a_single_proposal_opens_no_menu() {
        let mut keys = keys(0);
        keys.next(tab());
        keys.offered.store(1, Ordering::Relaxed);
        assert_eq!(keys.next(tab()), tab());
        keys.offered.store(1, Ordering::Relaxed);
        assert!(runs(&keys.next(ReedlineEvent::Enter)));
    }
}
