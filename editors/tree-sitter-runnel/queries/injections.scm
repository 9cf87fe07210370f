((comment) @injection.content
  (#set! injection.language "comment"))

((pattern) @injection.content
  (#set! injection.language "regex"))
