sum = 0
for i in range(1, 50000001):
    sum += i % 7
print(sum)
