//! The words and marks of the language: the one table from which the manual, `runnel doc` and editors read.

/// A word or a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LanguageWord {
    /// As a program writes it: `class`, `:=`.
    pub name: &'static str,
    /// Other spellings of the same.
    pub others: &'static [&'static str],
    /// What it means, in one sentence.
    pub meaning: &'static str,
    /// A program, its value behind `// =>`, and below `---` a request with its answer.
    pub example: &'static str,
    /// The page of the manual, from `spec/`.
    pub page: &'static str,
}

impl LanguageWord {
    /// The program of the example.
    pub fn program(&self) -> &'static str {
        self.example.split_once("\n---\n").map_or(self.example, |(program, _)| program)
    }

    /// The request to the program with its answer.
    pub fn request(&self) -> Option<&'static str> {
        self.example.split_once("\n---\n").map(|(_, request)| request)
    }
}

/// Short for an entry of the table.
const fn word(
    name: &'static str,
    meaning: &'static str,
    example: &'static str,
    page: &'static str,
) -> LanguageWord {
    LanguageWord { name, others: &[], meaning, example, page }
}

impl LanguageWord {
    const fn or(mut self, others: &'static [&'static str]) -> LanguageWord {
        self.others = others;
        self
    }
}

/// A word or a mark by any of its spellings.
pub fn find(name: &str) -> Option<&'static LanguageWord> {
    WORDS.iter().find(|one| one.name == name || one.others.contains(&name))
}

/// All words, then all marks.
pub const WORDS: &[LanguageWord] = &[
    word(
        "class",
        "A class with variables and methods.",
        "class Task { var title. -shout { this:title uppercaseString } }\n\
         #Task{ title: 'sow' } shout // => SOW",
        "language/classes.md",
    ),
    word(
        "extension",
        "Adds methods to a class that exists.",
        "extension String { -shout { self uppercaseString , '!' } }\n\
         'hello' shout // => HELLO!",
        "language/classes.md",
    ),
    word(
        "scheme",
        "A store made of property paths; a server answers requests from it.",
        "scheme Site { /hello { get { 'Hello' } } }\n#Site{}\n---\nGET /hello → 200 Hello",
        "language/property-paths.md",
    ),
    word(
        "filter",
        "A stream that does something with each `object`; `^` passes a result on.",
        "filter Upcase |{ ^object uppercaseString }\nUpcase process: 'hello' // => [HELLO]",
        "language/filters.md",
    ),
    word(
        "system",
        "An object composed of others: `connectComponents` makes it.",
        "system Greeter { var name. -connectComponents { { \"hello {this:name}\" } } }\n\
         #Greeter{ name: 'Ann' } value // => hello Ann",
        "language/objects.md",
    ),
    word(
        "protocol",
        "Messages that objects understand, without bodies; it passes notifications on.",
        "protocol TitleDidChange { -titleDidChange. }\n\
         heard ← #MutableArray[].\n\
         protocol:TitleDidChange → { :what | heard add: what }.\n\
         protocol:TitleDidChange notify: 'title'.\n\
         heard // => [title]",
        "language/connections.md",
    ),
    word(
        "notification",
        "A protocol whose messages are sent to all that follow.",
        "notification TitleDidChange { -titleDidChange. }\n\
         heard ← #MutableArray[].\n\
         protocol:TitleDidChange → { :what | heard add: what }.\n\
         protocol:TitleDidChange notify: 'title'.\n\
         heard // => [title]",
        "language/connections.md",
    ),
    word(
        "connector",
        "How two ends are joined: it has a `source` and a `target`.",
        "connector Traced { -connect { file:seen.txt := \"{this:source} to {this:target}\" } }\n\
         'a' → Traced → 'b'.\n\
         file:seen.txt stringValue // => a to b",
        "language/connections.md",
    ),
    word(
        "object",
        "A template: an object literal under a name, with properties that its uses change.",
        "class Person { var name. var age. }\n\
         object Adult : #Person{ name: 'nobody', age: 18 }.\n\
         #Adult{ name: 'Ann' } age // => 18",
        "language/objects.md",
    ),
    word(
        "var",
        "A variable of the object, with its type.",
        "class Task { var <string 1..80> title. }\n#Task{ title: 'sow' } title // => sow",
        "language/classes.md",
    ),
    word(
        "test",
        "A test, which `runnel test` runs.",
        "test 'adds' { 3 + 4 should: 7 }",
        "commands/test.md",
    ),
    word(
        "get",
        "Answers `GET` on a property path.",
        "scheme Site { /hello { get { 'Hello' } } }\n#Site{}\n---\nGET /hello → 200 Hello",
        "language/property-paths.md",
    ),
    word(
        "put",
        "Answers `PUT` and an assignment; the content is `newValue`.",
        "scheme Site { var title. /title { get { this:title } put { this:title ← newValue } } }\n\
         scheme:site ← #Site{}.\n\
         site:title ← 'Seeds'.\n\
         site:title // => Seeds",
        "language/property-paths.md",
    ),
    word(
        "post",
        "Answers `POST`; the content is `newValue`.",
        "scheme Site { /echo { post { newValue } } }\n\
         #Site{}\n\
         ---\n\
         POST /echo {\"a\":1} → 200 {\"a\":1}",
        "language/property-paths.md",
    ),
    word(
        "merge",
        "Answers `PATCH`: the content holds what changes.",
        "scheme Site { var title. /title { get { this:title } merge { this:title ← newValue } } }\n\
         #Site{ title: 'Seeds' }\n\
         ---\n\
         GET /title → 200 Seeds",
        "language/property-paths.md",
    ),
    word(
        "delete",
        "Answers `DELETE`.",
        "scheme Site { /title { delete { nil } } }\n#Site{}\n---\nDELETE /title → 204",
        "language/property-paths.md",
    ),
    word(
        "list",
        "Answers the names below the path.",
        "scheme Site { /tasks { list { [ 'sow', 'dig' ] } } }\n\
         scheme:site ← #Site{}.\n\
         ref:site:tasks childNames // => [sow,dig]",
        "language/property-paths.md",
    ),
    word(
        "guard",
        "Refuses requests: 401 where it answers nil, 403 where it answers false.",
        "scheme Site { guard user { header:x-user } /hello { get { \"Hello {user}\" } } }\n\
         #Site{}\n\
         ---\n\
         GET /hello → 401",
        "server/api.md",
    ),
    word(
        "with",
        "Gives the handlers behind it a value, evaluated when one of them uses it.",
        "scheme Site { /double/:<int>n { with twice { n * 2 } get { twice } } }\n\
         #Site{}\n\
         ---\n\
         GET /double/3 → 200 6",
        "server/api.md",
    ),
    word(
        "find",
        "Gives the handlers behind it a value; nil is 404.",
        "scheme Site { var items. /items/:id { find item { this:items at: id } get { item } } }\n\
         #Site{ items: #{ pen: 3 } }\n\
         ---\n\
         GET /items/ink → 404",
        "server/api.md",
    ),
    word(
        "before",
        "Runs before the handlers.",
        "scheme Site { /hello { before { response:x-seen ← 'yes' } get { 'Hello' } } }\n\
         #Site{}\n\
         ---\n\
         GET /hello → 200 Hello",
        "server/api.md",
    ),
    word(
        "after",
        "Runs after the handlers, with their answer.",
        "scheme Site { /hello { after { :answer | response:x-size ← answer count } get { 'Hello' } } }\n\
         #Site{}\n\
         ---\n\
         GET /hello → 200 Hello",
        "server/api.md",
    ),
    word(
        "rescue",
        "Answers a request that was refused with 4xx, and keeps the status code.",
        "scheme Site { rescue { :error | \"no: {error message}\" } /hello { find who { nil } get { who } } }\n\
         #Site{}\n\
         ---\n\
         GET /hello → 404 no: there is no such who",
        "server/api.md",
    ),
    word(
        "header",
        "A header of the request that the handlers take, with its type.",
        "scheme Site { /level { header <int?> X-Level. get { \"level {xLevel}\" } } }\n\
         #Site{}\n\
         ---\n\
         GET /level → 200 level nil",
        "server/api.md",
    ),
    word(
        "load",
        "Runs a source file, whose classes and variables become those of the program. It is a message to a reference.",
        "file:seeds.st := 'class Seed { -count { 12 } }'.\n\
         ref:file:seeds.st load.\n\
         Seed new count // => 12",
        "language/files.md",
    ),
    word(
        ":=",
        "Assigns: the first assignment makes the variable.",
        "a := 3.\nb ← 4.\na + b // => 7",
        "language/syntax.md",
    )
    .or(&["←", "<-"]),
    word(
        "+=",
        "Adds to the value, or posts to a store.",
        "list := #MutableArray[ 1 ].\nvar:list += 2.\nlist // => [1,2]",
        "language/references.md",
    ),
    word(
        "|=",
        "A constraint: the variable follows the expression.",
        "celsius := 100.\nfahrenheit |= celsius * 9 / 5 + 32.\nfahrenheit // => 212",
        "language/constraints.md",
    ),
    word(
        "=|=",
        "A constraint in both directions.",
        "left := nil.\nright := 'a'.\nleft =|= right.\nleft := 'b'.\nright // => b",
        "language/constraints.md",
    ),
    word(
        "→",
        "A connection: what the left end gives goes to the right one.",
        "total := 0.\n(1 to: 4) → { :n | total := total + n }.\ntotal // => 10",
        "language/connections.md",
    )
    .or(&["->", "⇨"]),
    word(
        "^",
        "Returns from a method; in a filter, passes a result on.",
        "class Light { -colour { ^'red' } }\nLight new colour // => red",
        "language/control.md",
    ),
    word(
        "|",
        "A pipe: the next message goes to the whole expression before it. In a block, the end of its parameters.",
        "1 to: 3 | count // => 3",
        "language/syntax.md",
    ),
    word(
        ";",
        "A cascade: the next message goes to the same receiver.",
        "list := #MutableArray[].\n\
         list addObject: 'hi'; addObject: 'there'.\n\
         list // => [hi,there]",
        "language/syntax.md",
    ),
    word(".", "Ends a statement.", "a := 3. a + 1 // => 4", "language/syntax.md"),
    word(
        ",",
        "Joins two texts or arrays, and stands between the elements of a literal.",
        "'a' , 'b' // => ab",
        "language/collections.md",
    ),
    word("( )", "Parentheses: evaluated first.", "2 * (3 + 4) // => 14", "language/syntax.md"),
    word(
        "[ ]",
        "An array; behind an expression, one of its elements.",
        "list := [ 3, 1, 2 ].\nlist[0] // => 3",
        "language/collections.md",
    ),
    word(
        "{ }",
        "A block (a closure) with its parameters in front of `|`.",
        "{ :n | n * 2 } value: 4 // => 8",
        "language/blocks.md",
    )
    .or(&["{", "}"]),
    word(
        "#{ }",
        "A dictionary.",
        "ages := #{ anna: 31 }.\nages['anna'] // => 31",
        "language/collections.md",
    )
    .or(&["#{", "#"]),
    word(
        "#Class{ }",
        "An object of a class, with its properties.",
        "class Task { var title. }\n#Task{ title: 'sow' } title // => sow",
        "language/objects.md",
    )
    .or(&["#Class{", "#Class"]),
    word(
        "#Class[ ]",
        "A collection of a class.",
        "#MutableArray[ 1, 2 ] count // => 2",
        "language/objects.md",
    )
    .or(&["#Class["]),
    word("#name", "A symbol: a short text.", "#done // => done", "language/text.md"),
    word(
        ":",
        "Behind a word, a part of a message or a scheme; in front of a name, a parameter.",
        "{ :each | each + 1 } value: 3 // => 4",
        "language/blocks.md",
    ),
    word(
        "$0",
        "An argument of a block by its position.",
        "{ $0 * 2 } value: 4 // => 8",
        "language/blocks.md",
    )
    .or(&["$1", "$name"]),
    word("' '", "A text.", "'it''s' // => it's", "language/text.md").or(&["'"]),
    word(
        "\" \"",
        "A text with values in braces.",
        "n := 3.\n\"{n} tasks\" // => 3 tasks",
        "language/text.md",
    )
    .or(&["\""]),
    word("//", "A comment, up to the end of the line.", "3 + 4 // => 7", "language/syntax.md")
        .or(&["#!"]),
    word("=", "Whether two values are equal.", "'a' = 'a' // => true", "language/control.md"),
];
