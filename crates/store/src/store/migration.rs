//! Migrations as data: the steps of a program, and what to do with them.

use crate::Shape;

/// Steps in their order, and what to do with them.
#[derive(Clone, Debug, Default)]
pub struct Migration {
    /// The steps.
    pub steps: Vec<MigrationStep>,
    /// What to do.
    pub act: MigrationAct,
    /// The class whose table is compared.
    pub shape: Option<Shape>,
}

/// One step, which is applied once and as a whole.
#[derive(Clone, Debug, Default)]
pub struct MigrationStep {
    /// Its name, such as `0002-split-name.sql`; names give the order.
    pub name: String,
    /// The statements that apply it.
    pub statements: String,
    /// The statements that undo it.
    pub undo: Option<String>,
}

/// What is done with steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MigrationAct {
    /// Those that were not applied before are applied, and remembered. Answers their names.
    #[default]
    Apply,
    /// The same in one transaction that is rolled back.
    DryRun,
    /// The last applied step is undone, and forgotten. Answers its name.
    Undo,
    /// Nothing. Answers the names of those that were applied before.
    List,
    /// The table of the shape is compared with it. Answers the statements that make it what the class
    /// says, beyond those that defining it runs, and comments where a person has to decide.
    Compare,
}

/// What was done with a step before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepState {
    /// It was not applied.
    Pending,
    /// It was applied.
    Applied,
    /// It was applied with other statements.
    Changed,
}

impl From<Vec<(String, String)>> for Migration {
    /// Steps to apply: names and statements.
    fn from(steps: Vec<(String, String)>) -> Self {
        let step = |(name, statements)| MigrationStep { name, statements, undo: None };
        let steps = steps.into_iter().map(step).collect();
        Migration { steps, ..Migration::default() }
    }
}

impl Migration {
    /// The steps to run, by their states: those to apply in order, or the one to undo.
    ///
    /// # Errors
    /// The step that cannot be run, and why: it was applied with other statements, it comes before an
    /// applied step, or it lacks the statements that undo it.
    pub fn plan(&self, states: &[StepState]) -> Result<Vec<&MigrationStep>, String> {
        let known = || self.steps.iter().zip(states);
        if let Some((step, _)) = known().find(|(_, state)| **state == StepState::Changed) {
            let name = &step.name;
            return Err(format!(
                "{name}: was applied before with other statements; write a new step instead"
            ));
        }
        let applied = || known().filter(|(_, state)| **state == StepState::Applied);
        let last = applied().map(|(step, _)| step).next_back();
        match self.act {
            MigrationAct::Compare => Ok(Vec::new()),
            MigrationAct::List => Ok(applied().map(|(step, _)| step).collect()),
            MigrationAct::Undo => match last {
                Some(step) if step.undo.is_none() => Err(format!(
                    "{}: has no statements that undo it; write them below a line `-- down`",
                    step.name
                )),
                last => Ok(last.into_iter().collect()),
            },
            MigrationAct::Apply | MigrationAct::DryRun => {
                let pending = known().filter(|(_, state)| **state == StepState::Pending);
                let pending: Vec<&MigrationStep> = pending.map(|(step, _)| step).collect();
                match (pending.first(), last) {
                    (Some(first), Some(last)) if first.name < last.name => Err(format!(
                        "{}: comes before {}, which was applied; give it a name that comes last",
                        first.name, last.name
                    )),
                    _ => Ok(pending),
                }
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn plans_keep_the_order() {
        use StepState::{Applied, Changed, Pending};
        let names = |act, states: &[StepState]| {
            let steps = ["1", "2", "3"].map(|name| (name.to_string(), String::new()));
            let mut migration = Migration { act, ..Migration::from(steps.to_vec()) };
            migration.steps[1].undo = Some(String::new());
            let plan = migration.plan(states)?;
            Ok::<String, String>(plan.iter().map(|step| step.name.as_str()).collect())
        };
        use MigrationAct::{Apply, DryRun, List, Undo};
        assert_eq!(names(Apply, &[Applied, Pending, Pending]).unwrap(), "23");
        assert_eq!(names(DryRun, &[Pending; 3]).unwrap(), "123");
        assert_eq!(names(List, &[Applied, Applied, Pending]).unwrap(), "12");
        assert_eq!(names(Undo, &[Applied, Applied, Pending]).unwrap(), "2");
        assert_eq!(names(Undo, &[Pending; 3]).unwrap(), "");
        assert!(names(Undo, &[Applied; 3]).unwrap_err().starts_with("3: has no statements"));
        assert!(names(Apply, &[Applied, Pending, Applied]).unwrap_err().starts_with("2: comes"));
        assert!(names(List, &[Changed, Pending, Pending]).unwrap_err().starts_with("1: was"));
    }
}
