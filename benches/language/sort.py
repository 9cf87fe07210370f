def sort(n):
    numbers = []
    seed = 42
    for _ in range(n):
        seed = seed * 16807 % 2147483647
        numbers.append(seed)
    ordered = sorted(numbers)
    return ordered[0] + ordered[n - 1]


print(sort(1000000))
