"""Commands that run or inspect the whole product: serve, worker, chat, doctor, init, config, migrate."""
