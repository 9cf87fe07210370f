class Checker:
    def check(self, n):
        if n % 2 == 1:
            raise Exception("odd")
        return n

    def run(self, n):
        handled = 0
        for i in range(1, n + 1):
            try:
                self.check(i * 2 - 1)
            except Exception as e:
                handled += len(e.args[0])
        return handled


print(Checker().run(500000))
