"""Run the app in Flower's simulation."""

from client_app import app as client_app
from flwr.simulation import run_simulation
from server_app import app as server_app

if __name__ == "__main__":
    run_simulation(
        server_app,
        client_app,
        num_supernodes=4,
        backend_config={
            "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
            "init_args": {"num_cpus": 2, "include_dashboard": False, "log_to_driver": False},
        },
    )
