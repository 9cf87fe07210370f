import json


def number(value):
    return int(value) if value == int(value) else value


items = [
    {"id": i, "title": f"Item number {i}", "price": number(i / 8), "tags": ["new", "red", "large"], "done": i % 2 == 0}
    for i in range(1, 90001)
]
size = 0
for _ in range(4):
    text = json.dumps(items, separators=(",", ":"))
    size += len(text) + len(json.loads(text))
print(size)
