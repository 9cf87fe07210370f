from functools import cmp_to_key


class Item:
    def __init__(self, title):
        self.title = title


def sort(n):
    numbers, items = [], []
    seed = 42
    for _ in range(n):
        seed = seed * 16807 % 2147483647
        numbers.append(seed)
        if len(items) < 200000:
            items.append(Item(f"item {seed}"))
    falling = sorted(numbers, key=cmp_to_key(lambda a, b: b - a))
    titled = sorted(items, key=lambda item: item.title)
    return f"{falling[0]} {falling[n - 1]} {titled[0].title} {titled[199999].title}"


print(sort(300000))
