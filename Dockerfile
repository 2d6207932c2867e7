# The shop, the viewer and the command `iad` in one image, which runs without root.
#   docker build -t iad .
#   docker run --rm -p 127.0.0.1:3000:3000 iad
#   docker run --rm -v iad-runs:/home/iad/runs iad compare IAD/WebShop-v0 --tasks 20 --out runs/first
#   docker run --rm -v iad-runs:/home/iad/runs -p 127.0.0.1:8000:8000 iad view runs/first --host 0.0.0.0
# A server in a container has to listen on all its addresses. 127.0.0.1 before the port keeps it to your machine.
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE iad_verifiers.py ./
COPY data data
COPY iad_envs iad_envs
COPY iad_policy iad_policy
COPY webshop_server webshop_server
RUN python -m venv /opt/iad && /opt/iad/bin/pip install --no-cache-dir --constraint constraints.txt .

FROM python:3.13-slim
COPY --from=build /opt/iad /opt/iad
ENV PATH=/opt/iad/bin:$PATH
RUN useradd --create-home iad
USER iad
WORKDIR /home/iad
# A volume that is mounted here takes the owner of this folder.
RUN mkdir runs
EXPOSE 3000 8000
ENTRYPOINT ["iad"]
CMD ["serve", "--host", "0.0.0.0"]
