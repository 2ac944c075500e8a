"""Life and death of processes: fork, kill, exit."""

import signal
import subprocess
import sys
import time

TRAIN = """
import torch
m = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256)).to("neuron")
o = torch.optim.AdamW(m.parameters())
x = torch.randn(64, 256, device="neuron")
i = 0
while True:
    o.zero_grad(); m(x).square().mean().backward(); o.step()
    i += 1
    if i == 3: print("running", flush=True)
"""


def test_a_killed_training_run_does_not_hurt_the_next(run_python):
    for _ in range(2):
        p = subprocess.Popen([sys.executable, "-c", TRAIN], stdout=subprocess.PIPE, text=True)
        assert p.stdout.readline().strip() == "running"
        time.sleep(0.2)
        p.send_signal(signal.SIGKILL)
        assert p.wait() == -signal.SIGKILL
        p.stdout.close()
    code = "import torch; print((torch.ones(1000, device='neuron') + 1).sum().item())"
    assert run_python(code).stdout.strip() == "2000.0"


def test_a_forked_child_is_refused_with_words(run_python):
    code = """
import os, torch
x = torch.ones(2, device="neuron")
pid = os.fork()
if pid == 0:
    assert torch.neuron._is_in_bad_fork()
    try:
        torch.ones(2, device="neuron") + 1
    except RuntimeError as e:
        os._exit(0 if "spawn" in str(e) else 3)
    os._exit(4)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert (x + 1).tolist() == [2, 2]
"""
    run_python(code)


def test_exit_with_work_in_flight_is_clean(run_python):
    code = """
import torch
s = torch.neuron.Stream()
with torch.neuron.stream(s):
    x = torch.rand(512, 512, device="neuron")
    for _ in range(50): x = x @ x * 1e-2
keep = [torch.empty(1000, device="neuron") for _ in range(10)]
torch.neuron.set_stream(s)
"""
    done = run_python(code)
    assert done.stderr == ""


def test_no_thread_spins_while_idle(run_python):
    code = """
import time, torch
x = torch.rand(512, 512, device="neuron"); (x @ x).sum().item()
time.sleep(0.3)
a = time.process_time(); time.sleep(1.0); b = time.process_time()
print(b - a)
"""
    assert float(run_python(code).stdout) < 0.1


def test_a_keyboard_interrupt_leaves_the_device_usable(run_python):
    code = """
import os, signal, threading, torch
signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent in the background may have it ignored
x = torch.rand(256, 256, device="neuron")
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    while True: (x @ x).sum().item()
except KeyboardInterrupt:
    pass
print((torch.ones(2, device="neuron") + 1).tolist())
"""
    assert run_python(code).stdout.strip() == "[2.0, 2.0]"
