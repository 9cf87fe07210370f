(class_definition
  keyword: (definition_keyword) @context
  name: (identifier) @name) @item

(template_definition
  "object" @context
  name: (identifier) @name) @item

(method_definition
  [ "-" "+" ] @context
  selector: (_) @name) @item

(property_path
  path: (path_pattern) @name) @item

(handler
  verb: (verb) @name) @item

(test_definition
  "test" @context
  name: (string) @name) @item
