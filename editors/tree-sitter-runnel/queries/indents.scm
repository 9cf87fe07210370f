; Captures of Helix; Neovim has those with a prefix.

[
  (block)
  (class_body)
  (property_path)
  (filter_body)
  (array)
  (dictionary)
  (attributes)
  (children)
  (parenthesized_expression)
] @indent @indent.begin

[ "}" "]" ")" ] @outdent @indent.end @indent.branch
