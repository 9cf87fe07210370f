//! Programs of beginners who know another language: each mistake gives one message with the place,
//! the cause and the next step.

use runnel_syntax::{LineIndex, parse};

/// A program, and `line:column title | hint` of each message.
const PROGRAMS: &[(&str, &[&str])] = &[
    (
        "if (x > 2) {\n  a := 1.\n} else {\n  a := 2.\n}",
        &["1:1 there is no `if` statement | \
             send the condition a message: `x > 2 ifTrue: { … } ifFalse: { … }`"],
    ),
    (
        "if (x > 2) { a := 1. } else { a := 2. }",
        &["1:1 there is no `if` statement | \
             send the condition a message: `x > 2 ifTrue: { … } ifFalse: { … }`"],
    ),
    (
        "if x > 2 {\n  a := 1\n}\nelse\n{\n  a := 2\n}",
        &["1:1 there is no `if` statement | \
             send the condition a message: `x > 2 ifTrue: { … } ifFalse: { … }`"],
    ),
    (
        "if x > 2:\n    print(x)\nelif x > 1:\n    print(1)\nelse:\n    print(2)\nb := 3.",
        &["1:1 there is no `if` statement | \
             send the condition a message: `x > 2 ifTrue: { … } ifFalse: { … }`"],
    ),
    (
        "if (a && b) { return 3; }",
        &[
            "1:1 there is no `if` statement | send the condition a message: `condition ifTrue: { … }`",
        ],
    ),
    (
        "while (x < 3) { x := x + 1. }",
        &["1:1 there is no `while` statement | \
             send the condition, in a block, a message: `{ x < 3 } whileTrue: { … }`"],
    ),
    (
        "while x < 3:\n    x = x + 1\nb := 3.",
        &["1:1 there is no `while` statement | \
             send the condition, in a block, a message: `{ x < 3 } whileTrue: { … }`"],
    ),
    (
        "for x in list {\n  print(x)\n}",
        &[
            "1:1 there is no `for` statement | a collection visits its elements: `list do: { :x | … }`",
        ],
    ),
    (
        "for x in list:\n    print(x)",
        &[
            "1:1 there is no `for` statement | a collection visits its elements: `list do: { :x | … }`",
        ],
    ),
    (
        "for (const x of items) { a := 1. }",
        &[
            "1:1 there is no `for` statement | a collection visits its elements: `items do: { :x | … }`",
        ],
    ),
    (
        "for (let i = 0; i < 10; i++) {\n  a := i.\n}\nb := 3.",
        &["1:1 there is no `for` statement | a range visits its numbers: `0 to: 9 do: { :i | … }`"],
    ),
    (
        "for i in range(10):\n    a := i",
        &["1:1 there is no `for` statement | a range visits its numbers: `0 to: 9 do: { :i | … }`"],
    ),
    (
        "foreach ($items as $item) { a := 1. }",
        &["1:1 there is no `foreach` statement | \
             a collection visits its elements: `items do: { :item | … }`"],
    ),
    (
        "return 3.",
        &["1:1 there is no `return` | write `^ 3`; without it a block answers its last value"],
    ),
    (
        "function f(a) {\n  return a + 1;\n}\nb := 3.",
        &["1:1 there is no `function` | \
             give a block a name, `f ← { :a | … }`, and call it with `f value: …`"],
    ),
    (
        "def f(a):\n    return a\n\nb := 3.",
        &[
            "1:1 there is no `def` | give a block a name, `f ← { :a | … }`, and call it with `f value: …`",
        ],
    ),
    (
        "fn add(a, b) { a + b }",
        &["1:1 there is no `fn` | \
             give a block a name, `add ← { :a :b | … }`, and call it with `add value: … value: …`"],
    ),
    (
        "add = function(a, b) { return a + b; }",
        &["1:7 there is no `function` | \
             give a block a name, `add ← { :a :b | … }`, and call it with `add value: … value: …`"],
    ),
    (
        "import \"x\"\nb := 3.",
        &["1:1 there is no `import` | a reference loads another program: `ref:file:x.st load`"],
    ),
    (
        "require('./lib/x.js')",
        &["1:1 there is no `require` | a reference loads another program: `ref:file:x.st load`"],
    ),
    (
        "fs := require('fs').",
        &["1:7 there is no `require` | a reference loads another program: `ref:file:fs.st load`"],
    ),
    (
        "import java.util.List;",
        &["1:1 there is no `import` | a reference loads another program: `ref:file:List.st load`"],
    ),
    (
        "try {\n  a := 1.\n} catch (e) {\n  a := 2.\n}",
        &["1:1 there is no `try` statement | \
             write `{ … } onError: { :error | … }`, and `{ … } ensure: { … }` for what always runs"],
    ),
    (
        "try:\n    a := 1\nexcept Error:\n    a := 2",
        &["1:1 there is no `try` statement | \
             write `{ … } onError: { :error | … }`, and `{ … } ensure: { … }` for what always runs"],
    ),
    (
        "throw new Error('bad');",
        &["1:1 there is no `throw` | send the class a message: `Error signal: 'bad'`"],
    ),
    (
        "raise ValueError('bad')",
        &["1:1 there is no `raise` | send the class a message: `Error signal: 'bad'`"],
    ),
    (
        "switch (x) {\n  case 1: a := 2; break;\n}",
        &["1:1 there is no `switch` statement | \
             compare one value after the other: `x = 1 ifTrue: { … } ifFalse: { … }`"],
    ),
    ("print('x')", &["1:1 there is no `print` | a stream takes the text: `stdout println: 'x'`"]),
    (
        "print(name, count)",
        &[
            "1:1 there is no `print` | a stream takes the text: `stdout println: \"{name} {count}\"`",
        ],
    ),
    ("print 'x'", &["1:1 there is no `print` | a stream takes the text: `stdout println: 'x'`"]),
    ("puts \"x\"", &["1:1 there is no `puts` | a stream takes the text: `stdout println: \"x\"`"]),
    (
        "console.log(x);",
        &["1:1 there is no `console.log` | a stream takes the text: `stdout println: x`"],
    ),
    (
        "System.out.println(\"x\");",
        &[
            "1:1 there is no `System.out.println` | a stream takes the text: `stdout println: \"x\"`",
        ],
    ),
    ("'x'.length()", &["1:5 there is no call with parentheses | send a message: `'x' length`"]),
    ("n := x.length().", &["1:6 there is no call with parentheses | send a message: `x length`"]),
    ("list.add(3)", &["1:1 there is no call with parentheses | send a message: `list add: 3`"]),
    (
        "obj.method(a, b)",
        &["1:1 there is no call with parentheses | send a message: `obj method: a with: b`"],
    ),
    (
        "list.map(x => x * 2)",
        &["1:1 there is no call with parentheses | send a message: `list collect: { :x | x * 2 }`"],
    ),
    (
        "n := len(items).",
        &["1:6 there is no call with parentheses | send a message: `items count`"],
    ),
    (
        "f(a)",
        &["1:1 there is no call with parentheses | a block is called by a message: `f value: a`"],
    ),
    (
        "b := f(1, 2) + 3.",
        &[
            "1:6 there is no call with parentheses | a block is called by a message: `f value: 1 value: 2`",
        ],
    ),
    (
        "c := a > 2 ? 'x' : 'y'.",
        &["1:12 there is no `? :` | write `a > 2 ifTrue: { 'x' } ifFalse: { 'y' }`"],
    ),
    (
        "let x = 3;\nconst y = 4;",
        &[
            "1:1 there is no `let` with a value | a variable begins with its first value: `x ← 3`",
            "2:1 there is no `const` with a value | a variable begins with its first value: `y ← 4`",
        ],
    ),
    (
        "const x = f(3);",
        &["1:1 there is no `const` with a value | a variable begins with its first value: `x ← …`"],
    ),
    (
        "var x = 3",
        &["1:1 there is no `var` with a value | a variable begins with its first value: `x ← 3`"],
    ),
    (
        "int x = 3;",
        &["1:1 there is no `int` with a value | a variable begins with its first value: `x ← 3`"],
    ),
    (
        "count = 3;",
        &["1:7 `=` compares two values | a variable gets its value by `←` or `:=`: `count ← 3`"],
    ),
    ("a := 3;", &["1:7 a statement ends with a period | write `.` instead of `;`"]),
    (
        "a := 3;\nb := 4;\nc := 5;",
        &["1:7 a statement ends with a period | write `.` instead of `;`"],
    ),
    ("i++", &["1:2 there is no `++` | write `i ← i + 1`"]),
    ("i := 1.\ni++.\nb := 3.", &["2:2 there is no `++` | write `i ← i + 1`"]),
    ("i--;", &["1:2 there is no `--` | write `i ← i - 1`"]),
    ("a || b", &["1:3 there is no `||` | the second condition is a block: `a or: { b }`"]),
    (
        "(a > 1 || b > 2) ifTrue: { 3 }",
        &["1:8 there is no `||` | the second condition is a block: `a > 1 or: { b > 2 }`"],
    ),
    ("x := !done.", &["1:6 there is no `!` before a value | send the value a message: `done not`"]),
    ("[ :x | x * 2 ]", &["1:1 a block stands in braces | write `{ :x | x * 2 }`"]),
    (
        "list collect: [ :x | x * 2 ].\nb := 3.",
        &["1:15 a block stands in braces | write `{ :x | x * 2 }`"],
    ),
    (
        "a := [ 1 2 3 4 5 ].",
        &["1:10 a comma is missing between the elements | write a comma between all elements"],
    ),
    (
        "a := [ 'x' 'y' ].",
        &["1:12 a comma is missing between the elements | write a comma between all elements"],
    ),
    ("a := { \"a\": 1 }.", &["1:6 a dictionary begins with `#{` | write `#{ a: 1 }`"]),
    (
        "a := { 'a': 1, 'b': 2 }.",
        &["1:6 a dictionary begins with `#{` | write `#{ 'a': 1, 'b': 2 }`"],
    ),
    (
        "a := { name: 'x', age: 3 }.",
        &["1:6 a dictionary begins with `#{` | write `#{ name: 'x', age: 3 }`"],
    ),
    (
        "/* it's a comment */\nb := 3.",
        &[
            "1:1 a comment begins with `//` | write `//` at the beginning of each line of the comment",
        ],
    ),
    (
        "/*\n * a comment\n * over lines\n */\nb := 3.",
        &[
            "1:1 a comment begins with `//` | write `//` at the beginning of each line of the comment",
        ],
    ),
    (
        "a := 'it's'.",
        &[
            "1:9 the apostrophe ends the text | write it twice, `it''s`, or the text in double quotes",
        ],
    ),
    (
        "a := 'it's' , name.\nb := 'x'.\nc := 'y'.",
        &[
            "1:9 the apostrophe ends the text | write it twice, `it''s`, or the text in double quotes",
        ],
    ),
    (
        "a := 3 b := 4.",
        &["1:8 a period is missing before `b` | end the statement before it: `. b := …`"],
    ),
    (
        "a := x b := 4.",
        &["1:8 a period is missing before `b` | end the statement before it: `. b := …`"],
    ),
    (
        "a := (x + 1) b := 4.",
        &["1:14 a period is missing before `b` | end the statement before it: `. b := …`"],
    ),
    (
        "f := x => x * 2.\nb := f(3).",
        &["2:6 there is no call with parentheses | a block is called by a message: `f value: 3`"],
    ),
    ("f := (a, b) => a + b;", &["1:6 a block stands in braces | write `{ :a :b | a + b }`"]),
    ("f := () => { a := 1. }.", &["1:6 a block stands in braces | write `{ … }`"]),
    (
        "a := `Hello ${name}`.\nb := 3.",
        &["1:6 a text stands in quotes | \
             write `\"Hello {name}\"`: in double quotes a text holds expressions in braces"],
    ),
    (
        "class Task {\n  constructor(title) {\n    this.title = title;\n  }\n}",
        &["2:3 a class has no constructor | \
             declare the variables, `var title.`, and make objects with `#Task{ title: … }`"],
    ),
    (
        "class Task:\n    def __init__(self, title):\n        self.title = title",
        &[
            "1:1 the members of a class stand in braces | write `class Task { var name. -method { … } }`",
        ],
    ),
    (
        "class Task extends Item {\n  var x.\n}",
        &[
            "1:12 there is no `extends` | the superclass stands behind a colon: `class Task : Item { … }`",
        ],
    ),
    (
        "class Task {\n  var title.\n  rename(title) {\n    a := 1.\n  }\n}",
        &["3:3 a method begins with a minus sign | write `-rename: title { … }`"],
    ),
    (
        "class Task {\n  public void run() { }\n}",
        &["2:3 there is no `public` | \
             leave it out: a variable is declared by `var name.`, a method by `-name { … }`"],
    ),
    (
        "t := new Task().",
        &["1:6 there is no `new` before a class | \
             `#Task{ name: value }` makes an object, `Task new` an empty one"],
    ),
    (
        "t := new Task('x');",
        &["1:6 there is no `new` before a class | \
             `#Task{ name: value }` makes an object, `Task new` an empty one"],
    ),
    (
        "a := await f(3).",
        &["1:6 there is no `await` | leave it out: a message that waits lets other tasks run"],
    ),
    (
        "async function f() { a }",
        &["1:1 there is no `async` | leave it out: a message that waits lets other tasks run"],
    ),
    (
        "a := 3 # three\nb := 4.",
        &["1:8 a comment begins with `//` | \
             write `//` instead of `#`, which begins a comment in the first column only"],
    ),
    (
        "else { a := 3. }",
        &[
            "1:1 there is no `else` | both blocks are in one message: `x > 2 ifTrue: { … } ifFalse: { … }`",
        ],
    ),
];

fn messages(source: &str) -> Vec<String> {
    let lines = LineIndex::new(source);
    let found = parse(source).diagnostics.into_iter().map(|one| {
        let (line, column) = lines.position(source, one.label.span.start);
        format!("{line}:{column} {} | {}", one.title, one.hint.unwrap_or_default())
    });
    found.collect()
}

#[test]
fn a_habit_of_another_language_gives_one_message() {
    assert!(PROGRAMS.len() >= 70);
    for (program, expected) in PROGRAMS {
        assert_eq!(messages(program), *expected, "{program}");
    }
}
