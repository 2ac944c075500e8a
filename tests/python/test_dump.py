"""Compiled programs, written to a folder."""

import json

import torch


def folders(path, operator):
    return [p for p in path.iterdir() if p.name.endswith(f"-{operator}")]


def test_programs_are_written_with_their_data(tmp_path):
    x = torch.arange(6.0).reshape(2, 3).to("neuron").t()
    torch.mul(x, 3)
    with torch.neuron.dump_programs(tmp_path, data=True):
        y = torch.mul(x, 3)
        torch.mul(x, 4)
    torch.add(x, x)
    (folder,) = tmp_path.iterdir()
    assert folder.name.endswith("-aten.mul.Tensor")
    about = json.loads((folder / "program.json").read_text())
    assert about["operator"] == about["rule"] == "aten::mul.Tensor" and about["verifier"] is None
    assert about["results"] == [{"dtype": "f32", "dims": [3, 2]}]
    assert (folder / "0-lowered.hlo").read_text().startswith("func @")
    assert "stablehlo.multiply" in (folder / "stablehlo.mlir").read_text()
    read = lambda name: torch.frombuffer(bytearray((folder / name).read_bytes()), dtype=torch.float32)
    assert torch.equal(read("parameter-0.bin").reshape(3, 2), x.cpu())
    assert torch.equal(read("result-0.bin").reshape(3, 2), y.cpu())


def test_a_size_that_the_data_decides_is_named(tmp_path):
    x = torch.tensor([0.0, 1.0, 2.0], device="neuron")
    with torch.neuron.dump_programs(tmp_path):
        x.nonzero()
    (folder,) = folders(tmp_path, "aten.nonzero")
    room, count = json.loads((folder / "program.json").read_text())["results"]
    assert room["bounded"] == {"dim": 0, "count": 1} and count == {"dtype": "i64", "dims": []}
    assert not list(folder.glob("*.bin"))


def test_the_environment_asks_for_a_whole_process(run_python, tmp_path):
    code = "import torch; x = torch.ones(3, device='neuron') + 1; x.add_(1); torch.neuron.synchronize()"
    run_python(code, TORCH_NEURONX_DUMP=str(tmp_path), TORCH_NEURONX_DUMP_DATA="1")
    (folder,) = folders(tmp_path, "aten.add_.Tensor")
    operand, result = (torch.frombuffer(bytearray((folder / f"{n}-0.bin").read_bytes()), dtype=torch.float32) for n in ("parameter", "result"))
    assert operand.tolist() == [2.0] * 3 and result.tolist() == [3.0] * 3


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    x = torch.ones(3, device="neuron")
    with torch.neuron.dump_programs(tmp_path / "file"):
        try:
            torch.sub(x, x)
        except RuntimeError as e:
            assert "TORCH_NEURONX_DUMP" in str(e)
        else:
            raise AssertionError("no error")
