from functools import reduce


def over(numbers):
    doubled = list(map(lambda each: each * 2, numbers))
    large = list(filter(lambda each: each > 1000, doubled))
    return reduce(lambda sum, each: sum + each, large, 0)


numbers = list(range(1, 1000001))
print(sum(over(numbers) for _ in range(5)))
