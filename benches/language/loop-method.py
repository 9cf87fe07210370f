class Loop:
    def to(self, limit):
        sum = 0
        for i in range(1, limit + 1):
            sum += i % 7
        return sum


print(Loop().to(50000000))
