; Colours of Runnel. The names of captures are those that Neovim, Helix, Zed and the command of tree-sitter share.

(comment) @comment

; Names

(identifier) @variable

((identifier) @variable.builtin
  (#any-of? @variable.builtin "self" "super" "this" "context" "newValue" "stdout" "stderr" "stdin"))

((identifier) @constant.builtin
  (#any-of? @constant.builtin "nil" "true" "false"))

((identifier) @type
  (#match? @type "^[A-Z]"))

(implicit_parameter) @variable.parameter

; Messages

(unary_message (identifier) @function.method)
(keyword) @function.method
(operator) @operator

; Literals

(number) @number
(string) @string
(interpolated_string) @string
(escape_sequence) @string.escape
(pattern) @string.regexp
; The colour of the text around it does not hold inside: `@embedded` for most editors, `@none` for Neovim.
(interpolation) @embedded @none
(symbol "#" @constant)
(symbol) @constant
(key) @property
(default_value) @constant
(tag) @tag

; References

(scheme) @module
(reference_literal "ref:" @keyword)
(path_text) @markup.link.url
(path_segment) @markup.link.url
(path_wildcard) @markup.link.url

; Definitions

(definition_keyword) @keyword
[ "var" "object" "test" ] @keyword
[ "refuse" "message:" "check:" "at:" "for:" "paged" "paged:" "closed" ] @keyword
(verb) @keyword
(clause_keyword) @keyword
(parameter_place) @keyword
(handler mark: (identifier) @attribute)
(content_member (identifier) @property)
(answer header: (identifier) @property)
(signature "#-" @keyword)
(shell_command) @embedded

(class_definition name: (identifier) @type)
(class_definition superclass: (identifier) @type)
(template_definition name: (identifier) @type)
(method_definition [ "-" "+" ] @keyword)
(method_definition selector: (_) @function.method)
(signature selector: (_) @function.method)
(variable_declaration name: (identifier) @variable.member)
(parameter name: (identifier) @variable.parameter)
(path_parameter name: (identifier) @variable.parameter)
(request_parameter name: (identifier) @variable.parameter)
(block_parameters name: (identifier) @variable.parameter)
(type mark: (identifier) @attribute)
(type_identifier) @type
(parenthesized_type (identifier) @type)

; Marks

[ ":=" "::=" "←" "⇦" "<-" "+=" "|=" "=|=" "→" "->" "⇨" "|" "=|" "?" ] @operator
"^" @keyword.return
[ "." "," ";" ":" ] @punctuation.delimiter
[ "(" ")" "[" "]" "{" "}" "|{" ] @punctuation.bracket
(array "#" @punctuation.bracket)
(dictionary "#" @punctuation.bracket)
(type [ "<" ">" ] @punctuation.bracket)
(interpolation [ "{" "}" ] @punctuation.special)
