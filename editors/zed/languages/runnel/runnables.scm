; `runnel test` beside a test.
((test_definition
  "test" @run)
  (#set! tag runnel-test))
