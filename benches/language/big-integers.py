import sys


def factorial(n):
    product = 1
    for i in range(1, n + 1):
        product *= i
    return product


def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def power(n):
    product = 1
    for _ in range(n):
        product *= 2
    return product


sys.set_int_max_str_digits(0)
print(len(str(factorial(3000))) + len(str(fibonacci(20000))) + len(str(power(20000))))
