//! What is known of a value before the program runs.

/// A class in the [`World`](crate::world::World).
pub(crate) type ClassId = usize;

/// One thing that a value may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Case {
    /// nil
    Nil,
    /// An object of this class or of one below it.
    Object(ClassId),
    /// The class itself, or one below it.
    Class(ClassId),
}

/// What a value may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// Nothing was assigned so far.
    Unset,
    /// Anything.
    Any,
    /// One of these, in order.
    Cases(Vec<Case>),
}

/// Alternatives of a type; with more, anything is possible.
const MOST_CASES: usize = 6;

impl Type {
    pub(crate) fn object(class: ClassId) -> Type {
        Type::Cases(vec![Case::Object(class)])
    }

    pub(crate) fn nil() -> Type {
        Type::Cases(vec![Case::Nil])
    }

    /// What is either of two types.
    pub(crate) fn join(self, other: &Type) -> Type {
        match (self, other) {
            (Type::Any, _) | (_, Type::Any) => Type::Any,
            (Type::Unset, other) => other.clone(),
            (known, Type::Unset) => known,
            (Type::Cases(mut cases), Type::Cases(others)) => {
                cases.extend(
                    others.iter().copied().filter(|one| !cases.contains(one)).collect::<Vec<_>>(),
                );
                cases.sort_unstable();
                if cases.len() > MOST_CASES { Type::Any } else { Type::Cases(cases) }
            }
        }
    }

    pub(crate) fn without_nil(self) -> Type {
        match self {
            Type::Cases(mut cases) => {
                cases.retain(|one| *one != Case::Nil);
                if cases.is_empty() { Type::Unset } else { Type::Cases(cases) }
            }
            other => other,
        }
    }

    /// The alternatives beside nil; none where anything is possible.
    pub(crate) fn known(&self) -> Vec<Case> {
        match self {
            Type::Cases(cases) => cases.iter().copied().filter(|one| *one != Case::Nil).collect(),
            Type::Any | Type::Unset => Vec::new(),
        }
    }
}
