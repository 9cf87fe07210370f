[
  (block)
  (class_body)
  (property_path)
  (filter_body)
  (array)
  (dictionary)
  (attributes)
  (children)
] @fold
