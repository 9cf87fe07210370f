def total(n):
    d = {}
    for i in range(1, n + 1):
        d[i] = i * 2
    sum = 0
    for i in range(1, n + 1):
        sum += d[i]
    return sum


print(total(3000000))
