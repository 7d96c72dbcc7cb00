"""Whether the manifests for KubeRay agree with the driver, the image and the versions that are tested."""

import re
import shlex

import pytest
import yaml

from conftest import PROJECT, ROOT
from omr.ray.__main__ import _arguments, _settings

FOLDER = ROOT / "packaging" / "kuberay"


def read(name):
    return yaml.safe_load((FOLDER / name).read_text())


@pytest.fixture
def cluster():
    made = read("raycluster.yaml")
    assert (made["apiVersion"], made["kind"]) == ("ray.io/v1", "RayCluster")
    return made


@pytest.fixture
def entry():
    job = read("rayjob.yaml")
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    assert job["spec"]["clusterSelector"] == {"ray.io/cluster": read("raycluster.yaml")["metadata"]["name"]}
    program, args = (words := shlex.split(job["spec"]["entrypoint"]))[:3], words[3:]
    assert program == ["python", "-m", "omr.ray"]
    return _arguments().parse_args(args)


def test_the_driver_finds_its_files_on_the_head_alone(cluster, entry):
    head = cluster["spec"]["headGroupSpec"]["template"]["spec"]
    secrets = {volume["name"]: volume["secret"] for volume in head["volumes"]}
    (container,) = head["containers"]
    mounts = {mount["mountPath"]: secrets[mount["name"]] for mount in container["volumeMounts"]}
    for path, secret, key in [(entry.token_file, "omr-work", "token"), (entry.ca, "omr-tls", "ca.crt")]:
        folder, _, name = path.rpartition("/")
        assert (mounts[folder]["secretName"], name) == (secret, key)
    assert mounts["/etc/omr-tls"]["items"] == [{"key": "ca.crt", "path": "ca.crt"}]
    for group in cluster["spec"]["workerGroupSpecs"]:
        assert "volumes" not in group["template"]["spec"]


def test_an_actor_fills_a_machine(cluster, entry):
    settings = _settings(entry)
    (group,) = cluster["spec"]["workerGroupSpecs"]
    (container,) = group["template"]["spec"]["containers"]
    assert float(container["resources"]["limits"]["cpu"]) == settings.cpus
    assert settings.most == group["maxReplicas"]
    assert group["minReplicas"] <= settings.least


def test_image_and_ray_are_those_that_are_tested(cluster):
    pinned = re.search(r"^ray==(.*)$", (ROOT / "python/cluster-requirements.txt").read_text(), re.MULTILINE)[1]
    recipe = (FOLDER / "Containerfile").read_text()
    assert re.search(r"^ARG BASE=.*/ray:(.*)-py3\d+$", recipe, re.MULTILINE)[1] == pinned
    spec = cluster["spec"]
    assert spec["rayVersion"] == pinned
    groups = [spec["headGroupSpec"], *spec["workerGroupSpecs"]]
    images = {container["image"] for group in groups for container in group["template"]["spec"]["containers"]}
    (image,) = images
    assert f"--tag {image.rpartition('/')[2]} " in recipe
    least = next(need for need in PROJECT["optional-dependencies"]["ray"] if need.startswith("ray"))
    assert least == f"ray>={pinned.rpartition('.')[0]},<3"
