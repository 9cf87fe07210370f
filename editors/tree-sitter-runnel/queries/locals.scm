; Scopes and names, for editors that show where a name comes from.

(source_file) @local.scope
(block) @local.scope
(method_definition) @local.scope
(handler) @local.scope

(block_parameters name: (identifier) @local.definition)
(parameter name: (identifier) @local.definition)
(path_parameter name: (identifier) @local.definition)
(assignment target: (identifier) @local.definition)
(variable_declaration name: (identifier) @local.definition)
(temporaries name: (identifier) @local.definition)

(identifier) @local.reference
